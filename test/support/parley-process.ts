import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { compiledProgram } from './compiled-programs.ts'

/** A separate process of the application, which a test may kill. */
export type ParleyProcess = {
  url: string | undefined
  pid: number | undefined
  /** Lines of its log, of which `LOG_LEVEL` of its environment asks for some. */
  lines: Record<string, unknown>[]
  /** The address of the server of metrics, if `METRICS_PORT` is set. */
  metricsUrl: string | undefined
  /** Blocks the event loop again and again, each time for this long; 0 ends it. */
  keepBusy(busyMs: number): void
  kill(): Promise<void>
}

/** Settings of a process that refuses no request because the machine is busy. */
export const FOR_BUSY_MACHINES = { EVENT_LOOP_LAG_MAX_MS: '60000', DB_REQUESTS_ACQUIRE_TIMEOUT_MS: '30000' }

export async function startParleyProcess(environment: Record<string, string>): Promise<ParleyProcess> {
  const child: ChildProcess = fork(await compiledProgram('test/support/parley-process-main.ts'), {
    execArgv: [],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...process.env,
      ...FOR_BUSY_MACHINES,
      PORT: '0',
      LOG_LEVEL: 'silent',
      SECRET_KEY: 'ab'.repeat(32),
      ...environment,
    },
  })
  const lines: Record<string, unknown>[] = []
  if (child.stdout)
    createInterface(child.stdout).on('line', (line) => lines.push(JSON.parse(line) as Record<string, unknown>))
  const [started] = (await once(child, 'message')) as [{ url?: string; metricsUrl?: string }]
  return {
    url: started.url,
    metricsUrl: started.metricsUrl,
    pid: child.pid,
    lines,
    keepBusy: (busyMs) => void child.send({ busyMs }),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}
