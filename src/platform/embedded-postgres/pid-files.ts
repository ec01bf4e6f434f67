import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { errorCode } from './embedded-postgres-error.ts'

/**
 * A mark is an empty file whose name says which process made it. Everything is in the name, so a mark is never seen half
 * written; no name is used twice, so removing the mark of a dead process can never hit somebody else's.
 */
export type PidFile = { name: string; remove(): void }

export function writePidFile(folder: string): PidFile {
  fs.mkdirSync(folder, { recursive: true })
  const name = `${process.pid}.${processToken(process.pid)}.${randomBytes(6).toString('hex')}`
  const file = path.join(folder, name)
  fs.closeSync(fs.openSync(file, 'wx', 0o644))
  return { name, remove: () => fs.rmSync(file, { force: true }) }
}

/** The marks of living processes. Those of dead ones are removed on the way. */
export function listLivePidFiles(folder: string): string[] {
  if (!fs.existsSync(folder)) return []
  return fs.readdirSync(folder).filter((name) => {
    const [, token] = name.split('.')
    if (token !== undefined && processToken(pidFilePid(name)) === token) return true
    fs.rmSync(path.join(folder, name), { force: true })
    return false
  })
}

export function pidFilePid(name: string): number {
  return Number(name.split('.')[0])
}

/**
 * Tells a process from an earlier or later one with the same pid; undefined when there is none. Pids repeat: after a
 * restart of a container the same small numbers come again. A zombie counts as none: under a PID 1 that never reaps, it
 * answers signals for ever.
 */
export function processToken(pid: number): string | undefined {
  if (!hasProc()) return canSignal(pid) ? 'live' : undefined
  const stat = readProc(`${pid}/stat`)
  if (stat === undefined) return undefined
  // The second field, the program's name in parentheses, may itself hold spaces and parentheses.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return undefined
  const startedAtTick = rest[18]
  const boot = readProc('sys/kernel/random/boot_id')?.slice(0, 8) ?? 'boot'
  return `${boot}-${startedAtTick}`
}

export function hasProc(): boolean {
  return process.platform === 'linux' && fs.existsSync('/proc/self/stat')
}

function readProc(name: string): string | undefined {
  try {
    return fs.readFileSync(`/proc/${name}`, 'utf8')
  } catch {
    return undefined
  }
}

function canSignal(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
}
