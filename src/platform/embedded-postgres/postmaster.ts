import fs from 'node:fs'
import path from 'node:path'
import { type DataDirectory, isSameFolder } from './cluster/data-directory.ts'
import { hasProc, processToken } from './pid-files.ts'

/** What the server says of itself in `postmaster.pid`, a file that only the server may write or delete. */
export type Postmaster = { pid: number; port: number; status: string }

export function readPostmaster(folder: DataDirectory): Postmaster | undefined {
  const file = path.join(folder.data, 'postmaster.pid')
  if (!fs.existsSync(file)) return undefined
  const lines = readOrNothing(file).split('\n')
  const pid = Math.abs(Number(lines[0]))
  return pid > 0 ? { pid, port: Number(lines[3]), status: lines[7]?.trim() ?? '' } : undefined
}

/** The server of this cluster, unless the file is left over from one that is gone. */
export function findLivePostmaster(folder: DataDirectory): Postmaster | undefined {
  const postmaster = readPostmaster(folder)
  return postmaster && isAtWork(postmaster.pid, folder) ? postmaster : undefined
}

/** All processes of this cluster's servers, also those whose postmaster is dead. Empty where the system does not tell. */
export function listServerProcesses(folder: DataDirectory): number[] {
  if (!hasProc()) return []
  const pids = fs.readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => isSameFolder(`/proc/${pid}/cwd`, folder.data))
}

/**
 * A pid in a leftover file may by now be a zombie or some unrelated program. A server works in its data folder, so on
 * Linux its working directory tells; elsewhere a live pid has to do.
 */
function isAtWork(pid: number, folder: DataDirectory): boolean {
  if (processToken(pid) === undefined) return false
  return !hasProc() || isSameFolder(`/proc/${pid}/cwd`, folder.data)
}

function readOrNothing(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
