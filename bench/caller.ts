import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'

let nextAddress = 0

/** An address of its own for each call, so that limits are checked and never met. */
function newAddress(): string {
  nextAddress += 1
  return `10.${(nextAddress >> 16) & 255}.${(nextAddress >> 8) & 255}.${nextAddress & 255}`
}

/** Calls over kept connections, as cheaply as Node can: the caller shares the machine with what it measures. */
export class BenchCaller {
  tenantId = ''
  #cookie = ''
  readonly #url: string
  readonly #agent: Agent

  constructor(url: string, width: number) {
    this.#url = url
    // The server puts away what was silent for five seconds, perhaps in the very moment in which it is used again.
    this.#agent = new Agent({ keepAlive: true, maxSockets: width, timeout: 3000 })
  }

  /** Signs somebody up, on whose behalf all further calls are made. */
  async signUp(): Promise<void> {
    const body = { name: 'Bench', email: `${randomUUID()}@parley.example`, password: 'correct horse battery' }
    const answer = await this.#call('POST', `${this.#url}/api/auth/sign-up/email`, body)
    this.#cookie = answer.cookies[0]?.split(';')[0] ?? ''
    this.tenantId = (JSON.parse(answer.text) as { workspaces: [{ id: string }] }).workspaces[0].id
  }

  async get(path: string, base = this.#url): Promise<void> {
    await this.#call('GET', base + path)
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    return JSON.parse((await this.#call('POST', this.#url + path, body)).text) as T
  }

  /** A text as it is, with headers of its own. */
  async send(path: string, text: string, headers: Record<string, string>): Promise<void> {
    await this.#send('POST', this.#url + path, text, headers)
  }

  #call(method: string, url: string, body?: unknown): Promise<{ text: string; cookies: string[] }> {
    return this.#send(method, url, body === undefined ? '' : JSON.stringify(body), {})
  }

  #send(
    method: string,
    url: string,
    text: string,
    own: Record<string, string>,
  ): Promise<{ text: string; cookies: string[] }> {
    const headers = {
      'x-forwarded-for': newAddress(),
      ...(this.#cookie ? { cookie: this.#cookie, 'x-tenant-id': this.tenantId } : {}),
      ...(text ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) } : {}),
      ...own,
    }
    return new Promise((resolve, reject) => {
      const call = request(url, { method, agent: this.#agent, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString('utf8')
          if ((response.statusCode ?? 500) >= 300)
            reject(new Error(`${url} answered ${response.statusCode}: ${answer}`))
          else resolve({ text: answer, cookies: response.headers['set-cookie'] ?? [] })
        })
      })
      call.on('error', reject).end(text)
    })
  }
}
