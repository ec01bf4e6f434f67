import fs from 'node:fs'
import path from 'node:path'
import { type DataDirectory, isSameFolder } from './data-directory.ts'
import { hasProc, processIdentity } from './pid-files.ts'

/** The contents of `postmaster.pid`, a file that only the server may write or delete. */
export type Postmaster = { pid: number; port: number; status: string }

/** The folder of a server's data. */
type DataFolder = Pick<DataDirectory, 'data'>

export function readPostmaster(folder: DataFolder): Postmaster | undefined {
  const file = path.join(folder.data, 'postmaster.pid')
  if (!fs.existsSync(file)) return undefined
  const lines = readOrEmpty(file).split('\n')
  const pid = Math.abs(Number(lines[0]))
  return pid > 0 ? { pid, port: Number(lines[3]), status: lines[7]?.trim() ?? '' } : undefined
}

/** Finds the running server of this cluster, ignoring a file that a dead one left behind. */
export function findLivePostmaster(folder: DataFolder): Postmaster | undefined {
  const postmaster = readPostmaster(folder)
  return postmaster && isRunning(postmaster.pid, folder) ? postmaster : undefined
}

/** Lists all processes of this cluster's servers, including those whose postmaster is dead. Empty without /proc. */
export function listServerProcesses(folder: DataFolder): number[] {
  if (!hasProc()) return []
  const pids = fs.readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => isSameFolder(`/proc/${pid}/cwd`, folder.data))
}

/**
 * Checks that a PID is that of the server. In a leftover file it may be a zombie or an unrelated program. The working
 * directory of a server is its data folder, which Linux shows; on other systems any live process passes.
 */
function isRunning(pid: number, folder: DataFolder): boolean {
  if (processIdentity(pid) === undefined) return false
  return !hasProc() || isSameFolder(`/proc/${pid}/cwd`, folder.data)
}

function readOrEmpty(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
