import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ApiResponse } from './app.ts'
import { ROOT } from './documents.ts'
import { waitUntil } from './wait-until.ts'

/** The command `npm run fake-whatsapp`, on a free port. */
export class FakeWhatsappProcess {
  output = ''
  readonly #process: ReturnType<typeof spawn>

  private constructor(args: string[]) {
    this.#process = spawn(process.execPath, ['--import', 'tsx', 'fake-whatsapp/main.ts', '--port', '0', ...args], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#process.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()))
  }

  static async start(...args: string[]): Promise<FakeWhatsappProcess> {
    const command = new FakeWhatsappProcess(args)
    await waitUntil(() => command.output.includes('Then set the webhook'))
    return command
  }

  get url(): string {
    return /listening on (\S+)/.exec(this.output)?.[1] ?? ''
  }

  /** Calls a control endpoint; throws unless the status is 200. */
  async control(method: string, path: string, body?: object): Promise<ApiResponse['body']> {
    const response = await fetch(`${this.url}/fake${path}`, {
      method,
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const answer: ApiResponse['body'] = await response.json()
    if (!response.ok) throw new Error(JSON.stringify(answer))
    return answer
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return
    this.#process.kill('SIGTERM')
    await once(this.#process, 'exit')
  }
}
