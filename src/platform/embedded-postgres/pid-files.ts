import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { errorCode } from './embedded-postgres-error.ts'

/**
 * An empty file whose name identifies the process that created it. As everything is in the name, no reader sees a half
 * written file; as no name is used twice, removing the file of a dead process never removes that of another.
 */
export type PidFile = { name: string; remove(): void }

export function writePidFile(folder: string): PidFile {
  fs.mkdirSync(folder, { recursive: true })
  const name = `${processIdentity()}.${randomBytes(6).toString('hex')}`
  const file = path.join(folder, name)
  fs.closeSync(fs.openSync(file, 'wx', 0o644))
  return { name, remove: () => fs.rmSync(file, { force: true }) }
}

/** Lists the PID files of live processes, and removes those of dead ones. */
export function listLivePidFiles(folder: string): string[] {
  if (!fs.existsSync(folder)) return []
  return fs.readdirSync(folder).filter((name) => {
    if (isLiveProcess(name)) return true
    fs.rmSync(path.join(folder, name), { force: true })
    return false
  })
}

export function pidFilePid(name: string): number {
  return Number(name.split('.')[0])
}

/**
 * Returns the PID with a token that distinguishes the process from earlier and later ones with the same PID; undefined if
 * there is none. PIDs repeat: a restarted container uses the same small numbers. A zombie counts as no process: under a
 * PID 1 that never reaps, it would accept signals forever.
 */
export function processIdentity(pid = process.pid): string | undefined {
  if (!hasProc()) return canSignal(pid) ? `${pid}.live` : undefined
  const stat = readProc(`${pid}/stat`)
  if (stat === undefined) return undefined
  // The second field, the program's name in parentheses, may itself contain spaces and parentheses.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return undefined
  const startedAtTick = rest[18]
  const boot = readProc('sys/kernel/random/boot_id')?.slice(0, 8) ?? 'boot'
  return `${pid}.${boot}-${startedAtTick}`
}

/** Checks the process whose identity a text begins with. */
export function isLiveProcess(text: string): boolean {
  const [pid, token] = text.split('.')
  return processIdentity(Number(pid)) === `${pid}.${token}`
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
