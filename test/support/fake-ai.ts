import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type Message = { role: string; content: string | null; tool_call_id?: string; tool_calls?: unknown[] }

/** What the model was asked, as it came over the wire. */
export type Asked = {
  path: string
  authorization: string | undefined
  body: {
    model: string
    messages: Message[]
    tools?: { function: { name: string; parameters: Record<string, any> } }[] // oxlint-disable-line no-explicit-any -- JSON Schema
    response_format?: unknown
  }
}

type Answer =
  { say: string } | { call: [name: string, input: unknown][] } | { status: number; error?: string } | { raw: string }

/** A provider that answers chat completions with what it was told to, in order; when nothing is left, it says "OK". */
export class FakeAi {
  readonly asked: Asked[] = []
  /** A promise answers when it is kept. */
  readonly #answers: (Answer | Promise<Answer>)[] = []
  readonly #server: Server
  #calls = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<FakeAi> {
    const server = createServer()
    const fake = new FakeAi(server)
    server.on('request', (request, response) => {
      void text(request).then(async (body) => {
        const { url = '', headers } = request
        fake.asked.push({ path: url, authorization: headers.authorization, body: JSON.parse(body) })
        const { status, text: answer } = fake.#render(await (fake.#answers.shift() ?? { say: 'OK' }))
        response.writeHead(status, { 'content-type': 'application/json' }).end(answer)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return fake
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  will(...answers: (Answer | Promise<Answer>)[]): void {
    this.#answers.push(...answers)
  }

  #render(answer: Answer): { status: number; text: string } {
    if ('raw' in answer) return { status: 200, text: answer.raw }
    if ('status' in answer) {
      return { status: answer.status, text: JSON.stringify({ error: { message: answer.error ?? 'not now' } }) }
    }
    const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
    const message =
      'say' in answer
        ? { role: 'assistant', content: answer.say }
        : { role: 'assistant', content: null, tool_calls: answer.call.map((one) => this.#toolCall(one)) }
    return { status: 200, text: JSON.stringify({ id: 'c', choices: [{ index: 0, message }], usage }) }
  }

  #toolCall([name, input]: [name: string, input: unknown]): object {
    this.#calls += 1
    const given = typeof input === 'string' ? input : JSON.stringify(input)
    return { id: `call-${this.#calls}`, type: 'function', function: { name, arguments: given } }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
