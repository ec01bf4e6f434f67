import { spawn } from 'node:child_process'

/** Whom a child runs as; left out, it runs as we do. */
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
 * The children's whole environment. Locale and time zone are pinned so that a cluster sorts and stamps alike wherever it
 * was made; nothing else is needed except on Windows, where no program starts without its system folders.
 */
export function childEnvironment(inherited: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C', TZ: 'UTC' }
  if (process.platform !== 'win32') return env
  for (const name of PASSED_ON_WINDOWS) if (inherited[name] !== undefined) env[name] = inherited[name]
  return env
}

/** In a process group of their own, so that Ctrl-C in the terminal does not reach them. Windows would open a console instead. */
const DETACHED = process.platform !== 'win32'

/**
 * Runs a program to its end. Rejects only when it cannot be started at all. `quiet` drops the output, which is needed
 * where the program leaves a daemon behind that would hold the pipes open.
 */
export function runProgram(file: string, args: string[], surroundings: ProgramEnvironment): Promise<Outcome> {
  const { env, account, cwd = '/', quiet = false } = surroundings
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
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
