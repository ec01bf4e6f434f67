import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'

type ClientResponse = { text: string; cookies: string[] }

let nextAddress = 0

/** Creates another client address for each request, so that rate limits are checked and never exceeded. */
function createAddress(): string {
  nextAddress += 1
  return `10.${(nextAddress >> 16) & 255}.${(nextAddress >> 8) & 255}.${nextAddress & 255}`
}

/** HTTP client with persistent connections and little overhead, because it shares the machine with the server. */
export class BenchClient {
  tenantId = ''
  #cookie = ''
  readonly #url: string
  readonly #agent: Agent
  readonly #key: string

  /** With an API key, it makes all requests. */
  constructor(url: string, maxConnections: number, key = '') {
    this.#url = url
    this.#key = key
    // The server closes connections after five idle seconds; closing them earlier avoids requests on a closing connection.
    this.#agent = new Agent({ keepAlive: true, maxSockets: maxConnections, timeout: 3000 })
  }

  /** The session of the user, as a request header. */
  get cookie(): string {
    return this.#cookie
  }

  /** Signs up a user, who makes all further requests. */
  async signUp(): Promise<void> {
    const body = { name: 'Bench', email: `${randomUUID()}@parley.example`, password: 'correct horse battery' }
    const response = await this.#request('POST', `${this.#url}/api/auth/sign-up/email`, JSON.stringify(body))
    this.#cookie = response.cookies[0]?.split(';')[0] ?? ''
    this.tenantId = (JSON.parse(response.text) as { workspaces: [{ id: string }] }).workspaces[0].id
  }

  async get(path: string, baseUrl = this.#url): Promise<void> {
    await this.#request('GET', baseUrl + path, '')
  }

  async getJson<T>(path: string): Promise<T> {
    return JSON.parse((await this.#request('GET', this.#url + path, '')).text) as T
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    return JSON.parse((await this.#request('POST', this.#url + path, JSON.stringify(body))).text) as T
  }

  async patch(path: string, body: unknown): Promise<void> {
    await this.#request('PATCH', this.#url + path, JSON.stringify(body))
  }

  /** Posts a JSON text as it is, with additional headers. */
  async postText(path: string, text: string, headers: Record<string, string>): Promise<void> {
    await this.#request('POST', this.#url + path, text, headers)
  }

  #request(
    method: string,
    url: string,
    body: string,
    additionalHeaders: Record<string, string> = {},
  ): Promise<ClientResponse> {
    const headers = {
      'x-forwarded-for': createAddress(),
      ...(this.#key ? { authorization: `Bearer ${this.#key}` } : {}),
      ...(this.#cookie ? { cookie: this.#cookie, 'x-tenant-id': this.tenantId } : {}),
      ...(body ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } : {}),
      ...additionalHeaders,
    }
    return new Promise((resolve, reject) => {
      const call = request(url, { method, agent: this.#agent, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          if ((response.statusCode ?? 500) >= 300)
            reject(new Error(`${method} ${url} returned ${response.statusCode}: ${text}`))
          else resolve({ text, cookies: response.headers['set-cookie'] ?? [] })
        })
      })
      call.on('error', reject).end(body)
    })
  }
}
