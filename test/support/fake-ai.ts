import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type Message = { role: string; content: string | null; tool_call_id?: string; tool_calls?: unknown[] }

/** A chat-completion request as the provider received it. */
export type AiRequest = {
  path: string
  authorization: string | undefined
  body: {
    model: string
    messages: Message[]
    tools?: { function: { name: string; parameters: Record<string, any> } }[] // oxlint-disable-line no-explicit-any -- JSON Schema
    response_format?: unknown
  }
}

type Reply =
  { say: string } | { call: [name: string, input: unknown][] } | { status: number; error?: string } | { raw: string }

/** A model provider that returns the planned replies in order, and "OK" when none is left. */
export class FakeAi {
  readonly requests: AiRequest[] = []
  /** A promise delays the response until it resolves. */
  readonly #replies: (Reply | Promise<Reply>)[] = []
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
        fake.requests.push({ path: url, authorization: headers.authorization, body: JSON.parse(body) })
        const { status, text: reply } = fake.#render(await (fake.#replies.shift() ?? { say: 'OK' }))
        response.writeHead(status, { 'content-type': 'application/json' }).end(reply)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return fake
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  replyWith(...replies: (Reply | Promise<Reply>)[]): void {
    this.#replies.push(...replies)
  }

  #render(reply: Reply): { status: number; text: string } {
    if ('raw' in reply) return { status: 200, text: reply.raw }
    if ('status' in reply) {
      return { status: reply.status, text: JSON.stringify({ error: { message: reply.error ?? 'not now' } }) }
    }
    const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
    const message =
      'say' in reply
        ? { role: 'assistant', content: reply.say }
        : { role: 'assistant', content: null, tool_calls: reply.call.map((one) => this.#toolCall(one)) }
    return { status: 200, text: JSON.stringify({ id: 'c', choices: [{ index: 0, message }], usage }) }
  }

  #toolCall([name, input]: [name: string, input: unknown]): object {
    this.#calls += 1
    const json = typeof input === 'string' ? input : JSON.stringify(input)
    return { id: `call-${this.#calls}`, type: 'function', function: { name, arguments: json } }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
