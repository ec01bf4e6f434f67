import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ReceivedCall = { method: string; url: string; headers: IncomingHttpHeaders; body: string }

type Reply = (call: ReceivedCall, response: ServerResponse) => void

/** An external API that responds as scripted and records the calls it receives. */
export class ScriptedServer {
  readonly calls: ReceivedCall[] = []
  readonly #server: Server
  readonly #script: Reply[] = []

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<ScriptedServer> {
    const server = createServer()
    const scripted = new ScriptedServer(server)
    server.on('request', (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { method = '', url = '', headers } = request
        const call = { method, url, headers, body: Buffer.concat(chunks).toString() }
        scripted.calls.push(call)
        const reply = scripted.#script.length > 1 ? scripted.#script.shift() : scripted.#script[0]
        if (reply) reply(call, response)
        else response.end()
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return scripted
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Clears the recorded calls and responds with these replies in order, repeating the last one. */
  replyWith(...script: Reply[]): void {
    this.calls.length = 0
    this.#script.splice(0, this.#script.length, ...script)
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

export function json(value: unknown, status = 200): Reply {
  return (_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

/** Accepts the call and never responds. */
export const neverReply: Reply = () => undefined
