import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { parseEmail, type ReceivedEmail } from './mail.ts'

/** A mail server on this machine that stores what it accepts. */
export class SmtpServer {
  readonly emails: ReceivedEmail[] = []
  connections = 0
  /** `silent` says nothing to a client, as a server that hangs; `refusing` has no time. */
  mode: 'accepting' | 'silent' | 'refusing' = 'accepting'
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => this.#serve(socket))
  }

  static async start(): Promise<SmtpServer> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new SmtpServer(server)
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Greets clients that have waited since they connected, and accepts their emails. */
  greet(): void {
    this.mode = 'accepting'
    for (const socket of this.#sockets) this.#accept(socket)
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #serve(socket: Socket): void {
    this.connections += 1
    this.#sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket))
    if (this.mode === 'silent') return
    if (this.mode === 'refusing') socket.end('421 try again later\r\n')
    else this.#accept(socket)
  }

  #accept(socket: Socket): void {
    socket.write('220 mail\r\n')
    let received = ''
    let isText = false
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk
      if (isText && !received.endsWith('\r\n.\r\n')) return
      if (isText) this.emails.push(parseEmail(received))
      isText = !isText && /^DATA\r\n/i.test(received)
      received = ''
      socket.write(isText ? '354 go on\r\n' : '250 ok\r\n')
    })
  }
}
