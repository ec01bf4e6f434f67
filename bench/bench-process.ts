import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

type Answer = { order: number; result?: unknown; error?: string }

/** A script of this folder as a process of its own that does what it is told, one thing after the other. */
export class BenchProcess {
  readonly #child: ChildProcess
  #orders = 0

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(script: string, environment: Record<string, string>): Promise<BenchProcess> {
    const child = fork(new URL(script, import.meta.url), {
      execArgv: ['--import', 'tsx'],
      env: { ...process.env, ...environment },
    })
    const started = new BenchProcess(child)
    await started.do('ready')
    return started
  }

  get pid(): number {
    return this.#child.pid as number
  }

  async do<T>(name: string, input: unknown = null): Promise<T> {
    this.#orders += 1
    const order = this.#orders
    const answer = new Promise<Answer>((resolve, reject) => {
      const onEnd = () => reject(new Error(`the process ended instead of doing '${name}'`))
      this.#child.once('exit', onEnd)
      this.#child.on('message', function take(this: ChildProcess, answered: Answer) {
        if (answered.order !== order) return
        this.off('exit', onEnd).off('message', take)
        resolve(answered)
      })
    })
    this.#child.send({ order, name, input })
    const { error, result } = await answer
    if (error !== undefined) throw new Error(`'${name}' failed: ${error}`)
    return result as T
  }

  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }
}

type Orders = Record<string, (input: never) => Promise<unknown>>

/** The other end of it. */
export function takeOrders(orders: Orders): void {
  process.on('message', ({ order, name, input }: { order: number; name: string; input: unknown }) => {
    const work: (input: never) => Promise<unknown> = orders[name] ?? (() => Promise.resolve())
    work(input as never).then(
      (result) => process.send?.({ order, result }),
      (error: unknown) => process.send?.({ order, error: error instanceof Error ? error.stack : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
