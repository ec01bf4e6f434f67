import { execFile } from 'node:child_process'
import { compiledProgram } from './compiled-programs.ts'
import { CITUS_URL } from './postgres.ts'

export type CommandOutput = { code: number; stdout: string; stderr: string }

/** Runs the program `parley` to its end. */
export async function runParley(args: string[], environment: Record<string, string>): Promise<CommandOutput> {
  const file = await compiledProgram('src/cli/parley.ts')
  const env = {
    ...process.env,
    SECRET_KEY: 'ab'.repeat(32),
    DISK_FREE_MIN_MB: '0',
    // Citus cannot plan every statement without its values.
    ...(CITUS_URL === undefined ? {} : { DB_PREPARED_STATEMENTS: 'false' }),
    ...environment,
  }
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
  })
}

export type CheckResult = { check: string; status: 'ok' | 'warning' | 'problem'; message: string }

/** Runs `parley doctor --json`, and returns its results by the names of the checks. */
export async function runDoctor(
  environment: Record<string, string>,
  ...args: string[]
): Promise<{ code: number; results: Map<string, CheckResult> }> {
  const { code, stdout, stderr } = await runParley(['doctor', '--json', ...args], environment)
  if (stderr !== '') throw new Error(stderr)
  const results: CheckResult[] = JSON.parse(stdout)
  return { code, results: new Map(results.map((result) => [result.check, result])) }
}
