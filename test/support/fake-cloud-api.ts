import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '../../src/platform/time.ts'
import { CloudApiWebhooks, newWamid, type StatusName } from './cloud-api-webhooks.ts'
import { type CloudApiError, type CloudApiSend, validateSend } from './cloud-api-rules.ts'

export type AcceptedSend = {
  wamid: string
  /** A number with its plus, or a user id. */
  recipient: string
  /** Body of a text message, or of a message with buttons. */
  body: string
  callbackData: string | null
  payload: CloudApiSend
}

/** A planned failure of a call. `hang`, `reset` and `contradict` accept the message first. */
type Fault =
  | { kind: 'reject' | 'contradict'; error: CloudApiError; headers: Record<string, string> }
  | { kind: 'answer'; status: number; body: string; headers: Record<string, string> }
  | { kind: 'hang' }
  | { kind: 'reset' }

const BODY_BYTES_MAX = 1024 * 1024
const KEPT_MAX = 20_000

/** A local Cloud API of one business number: accepts sends as the real one does, and sends webhooks. */
export class FakeCloudApi {
  readonly phoneNumberId = String(randomBytes(6).readUIntBE(0, 6))
  readonly credentials = {
    accessToken: `EAA${randomBytes(12).toString('hex')}`,
    appSecret: randomBytes(16).toString('hex'),
    verifyToken: randomBytes(8).toString('hex'),
  }
  readonly webhooks: CloudApiWebhooks
  readonly accepted: AcceptedSend[] = []
  /** Number of calls, including rejected ones. */
  calls = 0
  latencyMs = 0
  /** Statuses reported for every accepted send, in this order; repetitions are reported too. */
  statuses: StatusName[] = []
  /** Reports statuses before it responds to the send. */
  reportsStatusesFirst = false
  /** Awaited after a send is accepted, before the response. */
  beforeResponse: (send: AcceptedSend) => Promise<unknown> = () => Promise.resolve()
  /** Status codes, other than 200, of the responses to status webhooks. */
  readonly failedCallbacks: number[] = []

  readonly #server = createServer((request, response) => {
    this.#handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) respond(response, 500, { error: String(error) })
    })
  })
  readonly #faults: Fault[] = []
  readonly #reports = new Set<Promise<void>>()
  readonly #emitter = new EventEmitter()

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

  /** Rejects the next `count` sends with an error of the Cloud API. */
  rejectNext(code: number, { count = 1, status = 400, details = `Details of ${code}`, headers = {} } = {}): void {
    this.#plan(count, { kind: 'reject', error: { status, code, details }, headers })
  }

  /** Accepts the next `count` sends, but returns an error of the Cloud API. */
  contradictNext(code: number, { count = 1, status = 400 } = {}): void {
    const error = { status, code, details: `Details of ${code}` }
    this.#plan(count, { kind: 'contradict', error, headers: {} })
  }

  /** Responds to the next `count` sends as a proxy in front of the Cloud API may, without accepting them. */
  respondNext(status: number, body: string, { count = 1, headers = {} } = {}): void {
    this.#plan(count, { kind: 'answer', status, body, headers })
  }

  /** Accepts the next `count` sends; then either never responds, or resets the connection. */
  dropNextResponse(how: 'hang' | 'reset', { count = 1 } = {}): void {
    this.#plan(count, { kind: how })
  }

  /** Resolves when `count` sends have been accepted since the start. */
  async whenAccepted(count: number): Promise<void> {
    while (this.accepted.length < count) await once(this.#emitter, 'accepted')
  }

  /** Resolves when every status of `statuses` has been reported for the sends so far. */
  async whenStatusesReported(): Promise<void> {
    while (this.#reports.size > 0) await Promise.all(this.#reports)
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await Promise.all([closed, this.whenStatusesReported()])
  }

  #plan(count: number, fault: Fault): void {
    this.#faults.push(...Array<Fault>(count).fill(fault))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.calls += 1
    const text = await readText(request)
    if (this.latencyMs > 0) await delay(this.latencyMs)
    const payload = parse(text)
    const error = this.#validateCall(request) ?? (payload ? validateSend(payload) : INVALID_JSON)
    const fault = error ? undefined : this.#faults.shift()
    if (error || !payload) return respondWithError(response, error ?? INVALID_JSON)
    if (fault?.kind === 'reject') return respondWithError(response, fault.error, fault.headers)
    if (fault?.kind === 'answer') {
      response.writeHead(fault.status, fault.headers).end(fault.body)
      return
    }
    const send = this.#accept(payload)
    const report = this.reportsStatusesFirst ? this.#reportStatuses(send) : undefined
    await report
    await this.beforeResponse(send)
    if (fault?.kind === 'reset') request.socket.resetAndDestroy()
    else if (fault?.kind === 'contradict') respondWithError(response, fault.error)
    else if (!fault) respond(response, 200, acceptance(send))
    if (!report) void this.#reportStatuses(send)
  }

  #validateCall({ method, url = '', headers }: IncomingMessage): CloudApiError | undefined {
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
    this.#emitter.emit('accepted')
    return send
  }

  #reportStatuses({ wamid, callbackData }: AcceptedSend): Promise<void> {
    const report = (async () => {
      for (const status of this.webhooks.callbackUrl === undefined ? [] : this.statuses) {
        const responseStatus = await this.webhooks.sendStatuses([{ wamid, status, callbackData }]).catch(() => 0)
        if (responseStatus !== 200) this.failedCallbacks.push(responseStatus)
      }
    })().finally(() => this.#reports.delete(report))
    this.#reports.add(report)
    return report
  }
}

const INVALID_JSON: CloudApiError = { status: 400, code: 100, details: 'The body must be a JSON object' }

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

function respondWithError(
  response: ServerResponse,
  { status, code, details }: CloudApiError,
  headers: Record<string, string> = {},
): void {
  const error = {
    message: `(#${code}) ${details}`,
    type: 'OAuthException',
    code,
    error_data: { messaging_product: 'whatsapp', details },
    fbtrace_id: randomBytes(8).toString('base64url'),
  }
  respond(response, status, { error }, headers)
}

function respond(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
