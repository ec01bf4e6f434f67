import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Order, Report } from './embedded-postgres-process.ts'

type Kind = Report['kind']
type ReportOf<K extends Kind> = Extract<Report, { kind: K }>

export type ForkOptions = { uid?: number; gid?: number; env?: NodeJS.ProcessEnv; detached?: boolean }

const SCRIPT = path.join(import.meta.dirname, 'embedded-postgres-process.ts')
const running = new Set<ChildProcess>()

/** Another process that starts the embedded server of `dataDir`, or joins it. */
export class ForkedHolder {
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

  /** The first report of the kind for which `isIt` holds, as soon as it has come. */
  async next<K extends Kind>(kind: K, isIt: (report: ReportOf<K>) => boolean = () => true): Promise<ReportOf<K>> {
    for (;;) {
      const found = this.#all(kind).find(isIt)
      if (found) return found
      const [refusal] = this.#all('refused')
      if (refusal || !this.#child.connected)
        throw new Error(`no "${kind}": ${refusal?.message ?? 'the process is gone'}`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  last<K extends Kind>(kind: K): ReportOf<K> | undefined {
    return this.#all(kind).at(-1)
  }

  order(order: Order): void {
    this.#child.send(order)
  }

  async stop(): Promise<void> {
    this.order('stop')
    await this.next('stopped')
    await this.#gone()
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#gone()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #all<K extends Kind>(kind: K): ReportOf<K>[] {
    return this.#reports.filter((report): report is ReportOf<K> => report.kind === kind)
  }

  async #gone(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
  }
}

export function killForkedHolders(): void {
  for (const child of running) child.kill('SIGKILL')
}
