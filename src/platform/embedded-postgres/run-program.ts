import { type ChildProcess, spawn } from 'node:child_process'

/** The account that a child process runs as, if it is not that of this process. */
export type Account = { uid: number; gid: number }

export type ProgramEnvironment = {
  env: NodeJS.ProcessEnv
  account?: Account | undefined
  cwd?: string
  quiet?: boolean
}

export type Outcome = { code: number | null; output: string }

const PASSED_ON_WINDOWS = ['SystemRoot', 'SystemDrive', 'PATH', 'Path', 'TEMP', 'TMP', 'USERPROFILE', 'APPDATA']

/**
 * Builds the whole environment of child processes. Locale and time zone are fixed, so that clusters do not depend on the
 * machine; nothing else is needed except on Windows, where programs cannot start without the system folders.
 */
export function childEnvironment(inherited: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C', TZ: 'UTC' }
  if (process.platform !== 'win32') return env
  for (const name of PASSED_ON_WINDOWS) if (inherited[name] !== undefined) env[name] = inherited[name]
  return env
}

/** A separate process group keeps Ctrl-C in the terminal from reaching the children. Windows would open a console. */
const DETACHED = process.platform !== 'win32'

/**
 * Runs a program to its end. Rejects only if it cannot be started. `quiet` discards the output, which is needed if the
 * program leaves a daemon behind that would keep the pipes open.
 */
export function runProgram(file: string, args: string[], environment: ProgramEnvironment): Promise<Outcome> {
  const { env, account, cwd = '/', quiet = false } = environment
  return new Promise((resolve, reject) => {
    const stdio = quiet ? 'ignore' : 'pipe'
    const child = spawn(file, args, {
      env,
      cwd,
      ...account,
      stdio: ['ignore', stdio, stdio],
      detached: DETACHED,
      windowsHide: true,
    })
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    const cancelEnd = endAtExit(child)
    child.once('error', reject)
    child.once('close', (code) => {
      cancelEnd()
      resolve({ code, output })
    })
  })
}

/** Ends a child if this process exits before it: it is in another process group. The returned function cancels this. */
export function endAtExit(child: ChildProcess): () => void {
  const end = () => child.kill('SIGINT')
  process.once('exit', end)
  return () => process.off('exit', end)
}
