import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Command, Report } from './embedded-postgres-process.ts'

type Kind = Report['kind']
type ReportFor<K extends Kind> = Extract<Report, { kind: K }>

export type ForkOptions = { uid?: number; gid?: number; env?: NodeJS.ProcessEnv; detached?: boolean }

const SCRIPT = path.join(import.meta.dirname, 'embedded-postgres-process.ts')
const running = new Set<ChildProcess>()

/** A process that starts the embedded server of a data directory, or joins a running one. */
export class EmbeddedPostgresProcess {
  readonly #child: ChildProcess
  readonly #reports: Report[] = []
  readonly #waiting: (() => void)[] = []

  constructor(dataDir: string, { env, ...options }: ForkOptions = {}) {
    this.#child = fork(SCRIPT, [dataDir], {
      execArgv: ['--import', 'tsx'],
      env: { ...process.env, ...env },
      ...options,
    })
    this.#child.on('message', (report: Report) => {
      this.#reports.push(report)
      this.#wake()
    })
    this.#child.once('disconnect', () => this.#wake())
    this.#child.once('exit', () => running.delete(this.#child))
    running.add(this.#child)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Waits for the first report of the kind that satisfies the predicate. */
  async next<K extends Kind>(kind: K, matches: (report: ReportFor<K>) => boolean = () => true): Promise<ReportFor<K>> {
    for (;;) {
      const report = this.#all(kind).find(matches)
      if (report) return report
      const [failure] = this.#all('refused')
      if (failure || !this.#child.connected)
        throw new Error(`No report "${kind}": ${failure?.message ?? 'the process has exited'}`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  last<K extends Kind>(kind: K): ReportFor<K> | undefined {
    return this.#all(kind).at(-1)
  }

  send(order: Command): void {
    this.#child.send(order)
  }

  async stop(): Promise<void> {
    this.send('stop')
    await this.next('stopped')
    await this.#waitForExit()
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#waitForExit()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #all<K extends Kind>(kind: K): ReportFor<K>[] {
    return this.#reports.filter((report): report is ReportFor<K> => report.kind === kind)
  }

  async #waitForExit(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
  }
}

export function killEmbeddedPostgresProcesses(): void {
  for (const child of running) child.kill('SIGKILL')
}
