import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '../../src/platform/time.ts'
import { CloudApiWebhooks, newWamid, type StatusName } from './cloud-api-webhooks.ts'
import { type CloudApiRefusal, type CloudApiSend, refusalOfSend } from './cloud-api-rules.ts'

export type AcceptedSend = {
  wamid: string
  /** A number with its plus, or a user id. */
  recipient: string
  /** The words of a text, or over the buttons. */
  body: string
  callbackData: string | null
  payload: CloudApiSend
}

/** How a call goes that does not go well. Both `hang` and `reset` accept the message first. */
type Trouble =
  | { kind: 'refuse'; refusal: CloudApiRefusal }
  | { kind: 'answer'; status: number; body: string; headers: Record<string, string> }
  | { kind: 'hang' }
  | { kind: 'reset' }

const BODY_BYTES_MAX = 1024 * 1024
const KEPT_MAX = 20_000

/** The Cloud API of one business number, on this machine: takes sends as the real one does, and calls back. */
export class FakeCloudApi {
  readonly phoneNumberId = String(randomBytes(6).readUIntBE(0, 6))
  readonly credentials = {
    accessToken: `EAA${randomBytes(12).toString('hex')}`,
    appSecret: randomBytes(16).toString('hex'),
    verifyToken: randomBytes(8).toString('hex'),
  }
  readonly webhooks: CloudApiWebhooks
  readonly accepted: AcceptedSend[] = []
  /** Calls of any kind, also those that were refused. */
  calls = 0
  latencyMs = 0
  /** Told of every accepted send, in this order, whatever order that is, and as often as it stands here. */
  statuses: StatusName[] = []
  /** Statuses come before the send itself is answered. */
  isAhead = false
  /** What statuses were met with, other than 200. */
  readonly refusedCallbacks: number[] = []

  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) answer(response, 500, { fault: String(error) })
    })
  })
  readonly #troubles: Trouble[] = []
  readonly #told = new Set<Promise<void>>()
  readonly #heard = new EventEmitter()

  private constructor(clock: Clock) {
    this.webhooks = new CloudApiWebhooks({ phoneNumberId: this.phoneNumberId, ...this.credentials, clock })
  }

  static async start({ clock = systemClock }: { clock?: Clock } = {}): Promise<FakeCloudApi> {
    const api = new FakeCloudApi(clock)
    api.#server.listen(0, '127.0.0.1')
    await once(api.#server, 'listening')
    return api
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get settings(): { phoneNumberId: string; baseUrl: string } {
    return { phoneNumberId: this.phoneNumberId, baseUrl: this.url }
  }

  /** The next `count` sends end in an error of the Cloud API. */
  refuseNext(code: number, { count = 1, status = 400, details = `Details of ${code}` } = {}): void {
    this.#plan(count, { kind: 'refuse', refusal: { status, code, details } })
  }

  /** The next `count` sends get an answer that is not the Cloud API's, and are not accepted. */
  answerNext(status: number, body: string, { count = 1, headers = {} } = {}): void {
    this.#plan(count, { kind: 'answer', status, body, headers })
  }

  /** The next `count` sends are accepted, but the answer never comes, or the connection breaks instead. */
  loseNext(how: 'hang' | 'reset', { count = 1 } = {}): void {
    this.#plan(count, { kind: how })
  }

  /** Resolves when so many sends were accepted since the start. */
  async whenAccepted(count: number): Promise<void> {
    while (this.accepted.length < count) await once(this.#heard, 'accepted')
  }

  /** Resolves when every status of `statuses` has been told for the sends so far. */
  async whenTold(): Promise<void> {
    while (this.#told.size > 0) await Promise.all(this.#told)
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await Promise.all([closed, this.whenTold()])
  }

  #plan(count: number, trouble: Trouble): void {
    this.#troubles.push(...Array<Trouble>(count).fill(trouble))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.calls += 1
    const text = await readText(request)
    if (this.latencyMs > 0) await delay(this.latencyMs)
    const payload = parse(text)
    const refusal = this.#refusalOfCall(request) ?? (payload ? refusalOfSend(payload) : NO_JSON)
    const trouble = refusal ? undefined : this.#troubles.shift()
    if (refusal || !payload) return refuse(response, refusal ?? NO_JSON)
    if (trouble?.kind === 'refuse') return refuse(response, trouble.refusal)
    if (trouble?.kind === 'answer') {
      response.writeHead(trouble.status, trouble.headers).end(trouble.body)
      return
    }
    const send = this.#accept(payload)
    const telling = this.isAhead ? this.#tell(send) : undefined
    await telling
    if (trouble?.kind === 'reset') request.socket.resetAndDestroy()
    else if (!trouble) answer(response, 200, acceptance(send))
    if (!telling) void this.#tell(send)
  }

  #refusalOfCall({ method, url = '', headers }: IncomingMessage): CloudApiRefusal | undefined {
    const [, phoneNumberId] = /^\/v\d+\.\d\/(\d+)\/messages$/.exec(url) ?? []
    if (method !== 'POST' || !phoneNumberId) return { status: 400, code: 2500, details: 'Unknown path components' }
    const [, token] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
    if (!token) return { status: 401, code: 0, details: 'An access token is required' }
    if (token !== this.credentials.accessToken) return { status: 401, code: 190, details: 'Invalid OAuth access token' }
    if (phoneNumberId !== this.phoneNumberId) return { status: 400, code: 100, details: 'The object does not exist' }
    return undefined
  }

  #accept(payload: CloudApiSend): AcceptedSend {
    if (this.accepted.length >= KEPT_MAX) throw new Error(`The fake Cloud API keeps at most ${KEPT_MAX} sends.`)
    const {
      to,
      recipient,
      text,
      interactive,
      biz_opaque_callback_data: callbackData,
    } = payload as {
      [field: string]: string | undefined
    } & { text?: { body: string }; interactive?: { body: { text: string } } }
    const send = {
      wamid: newWamid(),
      recipient: to ?? recipient ?? '',
      body: text?.body ?? interactive?.body.text ?? '',
      callbackData: callbackData ?? null,
      payload,
    }
    this.accepted.push(send)
    this.#heard.emit('accepted')
    return send
  }

  #tell({ wamid, callbackData }: AcceptedSend): Promise<void> {
    const telling = (async () => {
      for (const status of this.webhooks.callbackUrl === undefined ? [] : this.statuses) {
        const met = await this.webhooks.tell([{ wamid, status, callbackData }]).catch(() => 0)
        if (met !== 200) this.refusedCallbacks.push(met)
      }
    })().finally(() => this.#told.delete(telling))
    this.#told.add(telling)
    return telling
  }
}

const NO_JSON: CloudApiRefusal = { status: 400, code: 100, details: 'The body must be a JSON object' }

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY_BYTES_MAX) return ''
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string): CloudApiSend | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as CloudApiSend) : undefined
  } catch {
    return undefined
  }
}

function acceptance({ wamid, recipient }: AcceptedSend): object {
  const contact = recipient.startsWith('+')
    ? { input: recipient, wa_id: recipient.slice(1) }
    : { input: recipient, user_id: recipient }
  return { messaging_product: 'whatsapp', contacts: [contact], messages: [{ id: wamid }] }
}

function refuse(response: ServerResponse, { status, code, details }: CloudApiRefusal): void {
  const error = {
    message: `(#${code}) ${details}`,
    type: 'OAuthException',
    code,
    error_data: { messaging_product: 'whatsapp', details },
    fbtrace_id: randomBytes(8).toString('base64url'),
  }
  answer(response, status, { error })
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
