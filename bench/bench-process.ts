import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

type Request = { id: number; command: string; input: unknown }
type Response = { id: number; result?: unknown; error?: string }

/** A script of this folder in a child process that executes commands. */
export class BenchProcess {
  readonly #child: ChildProcess
  #requests = 0

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(script: string, environment: Record<string, string>): Promise<BenchProcess> {
    const child = fork(new URL(script, import.meta.url), {
      execArgv: ['--import', 'tsx'],
      env: { ...process.env, ...environment },
    })
    const benchProcess = new BenchProcess(child)
    await benchProcess.execute('ready')
    return benchProcess
  }

  get pid(): number {
    return this.#child.pid as number
  }

  async execute<T>(command: string, input: unknown = null): Promise<T> {
    this.#requests += 1
    const request: Request = { id: this.#requests, command, input }
    const pending = new Promise<Response>((resolve, reject) => {
      const onExit = () => reject(new Error(`The process exited before it completed '${command}'`))
      this.#child.once('exit', onExit)
      this.#child.on('message', function onMessage(this: ChildProcess, response: Response) {
        if (response.id !== request.id) return
        this.off('exit', onExit).off('message', onMessage)
        resolve(response)
      })
    })
    this.#child.send(request)
    const { error, result } = await pending
    if (error !== undefined) throw new Error(`The command '${command}' failed: ${error}`)
    return result as T
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}

type Handler = (input: never) => Promise<unknown>

/** Executes the commands that the parent process sends; commands without a handler succeed at once. */
export function handleCommands(handlers: Record<string, Handler>): void {
  process.on('message', ({ id, command, input }: Request) => {
    const handle: Handler = handlers[command] ?? (() => Promise.resolve())
    handle(input as never).then(
      (result) => process.send?.({ id, result }),
      (error: unknown) => process.send?.({ id, error: error instanceof Error ? error.stack : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
