import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '../src/platform/time.ts'
import { AcceptedLog, type AcceptedSend } from './accepted-log.ts'
import { type Fault, Faults } from './faults.ts'
import {
  at,
  type Call,
  type CloudApiError,
  invalid,
  type JsonObject,
  parseObject,
  readBytes,
  respond,
  respondWithError,
  sendReply,
  textAt,
  UNKNOWN_OBJECT,
  UNKNOWN_PATH,
  type Reply,
} from './http.ts'
import { answerManagementCall } from './manage.ts'
import { FakeMedia } from './media.ts'
import { newObjectId } from './object-id.ts'
import { StatusReports } from './status-reports.ts'
import { FakeTemplates, findTemplateError } from './templates.ts'
import { Throttle } from './throttle.ts'
import { renderBody, validateParameters } from './validate-template.ts'
import { validateReadReceipt, validateSend } from './validate-send.ts'
import { CloudApiWebhooks, newWamid, type StatusName } from './webhooks.ts'

export type { AcceptedSend } from './accepted-log.ts'

const BODY_BYTES_MAX = 1024 * 1024
const CONTENT_MAX = 500
const UPLOAD_BYTES_MAX = 110 * 1024 * 1024

export type FakeCloudApiOptions = {
  clock?: Clock
  /** Port to listen on; 0 selects a free one. */
  port?: number
  phoneNumberId?: string
  wabaId?: string
  credentials?: { accessToken: string; appSecret: string; verifyToken: string }
}

/** A local Cloud API of one business number: accepts sends as the real one does, and sends webhooks. */
export class FakeCloudApi extends Faults {
  readonly phoneNumberId: string
  readonly wabaId: string
  readonly credentials: { accessToken: string; appSecret: string; verifyToken: string }
  readonly webhooks: CloudApiWebhooks
  readonly templates: FakeTemplates
  readonly media: FakeMedia
  readonly log = new AcceptedLog()
  readonly throttle: Throttle
  readonly statusReports: StatusReports
  /** Read receipts of the business, with the typing indicator if it was requested. */
  readonly readReceipts: { wamid: string; isTyping: boolean }[] = []
  /** Number of calls, including rejected ones. */
  calls = 0
  latencyMs = 0
  /** Statuses reported for every accepted send, in this order; repetitions are reported too. */
  statuses: StatusName[] = []
  /** Reports statuses before it responds to the send. */
  reportsStatusesFirst = false
  /** Awaited after a send is accepted, before the response. */
  beforeResponse: (send: AcceptedSend) => Promise<unknown> = () => Promise.resolve()
  /** Called with a line for each call and its outcome. */
  onCall: (line: string) => void = () => undefined
  /** Answers calls below `/fake/`, without an access token; undefined if it does not know the path. */
  control: ((call: Call) => Promise<Reply | undefined>) | undefined

  readonly #server = createServer((request, response) => {
    this.#handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) respond(response, 500, { error: String(error) })
    })
  })
  readonly #emitter = new EventEmitter()

  private constructor({ clock = systemClock, phoneNumberId, wabaId, credentials }: FakeCloudApiOptions) {
    super()
    this.phoneNumberId = phoneNumberId ?? newObjectId()
    this.wabaId = wabaId ?? newObjectId()
    this.credentials = credentials ?? {
      accessToken: `EAA${randomBytes(12).toString('hex')}`,
      appSecret: randomBytes(16).toString('hex'),
      verifyToken: randomBytes(8).toString('hex'),
    }
    const { appSecret, verifyToken } = this.credentials
    this.webhooks = new CloudApiWebhooks({
      phoneNumberId: this.phoneNumberId,
      wabaId: this.wabaId,
      appSecret,
      verifyToken,
      clock,
    })
    this.templates = new FakeTemplates(this.webhooks, clock)
    this.media = new FakeMedia(clock)
    this.throttle = new Throttle(clock)
    this.statusReports = new StatusReports(this.webhooks)
  }

  static async start(options: FakeCloudApiOptions = {}): Promise<FakeCloudApi> {
    const api = new FakeCloudApi(options)
    api.#server.listen(options.port ?? 0, '127.0.0.1')
    await once(api.#server, 'listening')
    return api
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get settings(): { phoneNumberId: string; wabaId: string; baseUrl: string } {
    return { phoneNumberId: this.phoneNumberId, wabaId: this.wabaId, baseUrl: this.url }
  }

  /** Sends that were accepted, in order. */
  get accepted(): AcceptedSend[] {
    return this.log.sends
  }

  /** Resolves when `count` sends have been accepted since the start. */
  async whenAccepted(count: number): Promise<void> {
    while (this.accepted.length < count) await once(this.#emitter, 'accepted')
  }

  /** Resolves when every status of `statuses` has been reported for the sends so far. */
  whenStatusesReported(): Promise<void> {
    return this.statusReports.waitUntilIdle()
  }

  /** Status codes, other than 200, of the responses to status webhooks. */
  get failedCallbacks(): number[] {
    return this.statusReports.failedCallbacks
  }

  async stop(): Promise<void> {
    this.templates.stop()
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await Promise.all([closed, this.whenStatusesReported()])
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await toCall(request)
    const controlled = call.isControl ? await this.control?.(call) : undefined
    if (controlled) return void sendReply(response, controlled)
    this.calls += 1
    if (this.latencyMs > 0) await delay(this.latencyMs)
    const outcome = await this.#answer(call, request, response)
    this.onCall(`${call.method} /${call.path.join('/')}${describeContent(call)}: ${outcome}`)
  }

  /** Responds to a call and returns what it responded. */
  async #answer(call: Call, request: IncomingMessage, response: ServerResponse): Promise<string> {
    const { path } = call
    const error = this.#findAccessError(call)
    if (error) return respondWithError(response, error)
    if (call.method === 'POST' && path[0] === this.phoneNumberId && path[1] === 'messages' && path.length === 2)
      return this.#answerSend(call, request, response)
    const failure = this.takeManagementError()
    return sendReply(response, failure ? { error: failure } : await answerManagementCall(this, call))
  }

  async #answerSend({ bytes }: Call, request: IncomingMessage, response: ServerResponse): Promise<string> {
    const payload = parseObject(bytes)
    if (payload && 'status' in payload) return sendReply(response, this.#acceptReadReceipt(payload))
    const error = payload ? this.#findSendError(payload) : invalid('The body must be a JSON object')
    if (error || !payload) return respondWithError(response, error ?? UNKNOWN_OBJECT)
    const recipient = textAt(payload, 'to') || textAt(payload, 'recipient')
    const fault = this.takeFault(recipient)
    if (fault?.kind === 'reject') return respondWithError(response, fault.error, fault.headers)
    if (fault?.kind === 'answer') {
      response.writeHead(fault.status, fault.headers).end(fault.body)
      return `${fault.status} ${fault.body}`
    }
    const limit = this.throttle.take(recipient)
    if (limit) return respondWithError(response, limit)
    const send = this.#accept(payload)
    const report = this.reportsStatusesFirst ? this.#reportStatuses(send, fault) : undefined
    await report
    await this.beforeResponse(send)
    const outcome = respondToAccepted(send, fault, request, response)
    if (!report) void this.#reportStatuses(send, fault)
    return outcome
  }

  #findAccessError({ headers, path }: Call): CloudApiError | undefined {
    if (path.length === 0) return UNKNOWN_PATH
    const [, token] = /^(?:Bearer|OAuth) (.+)$/.exec(headers.authorization ?? '') ?? []
    if (!token) return { status: 401, code: 0, details: 'An access token is required' }
    if (token !== this.credentials.accessToken) return { status: 401, code: 190, details: 'Invalid OAuth access token' }
    return undefined
  }

  #acceptReadReceipt(payload: JsonObject): Reply {
    const error = validateReadReceipt(payload)
    if (error) return { error }
    this.readReceipts.push({ wamid: textAt(payload, 'message_id'), isTyping: 'typing_indicator' in payload })
    return { body: { success: true } }
  }

  #findSendError(payload: JsonObject): CloudApiError | undefined {
    const error = validateSend(payload)
    if (error) return error
    if (payload['type'] === 'template') {
      const template = this.#findTemplate(payload)
      return findTemplateError(template) ?? validateParameters(template?.components ?? [], payload)
    }
    const mediaId = textAt(at(payload, textAt(payload, 'type')), 'id')
    return mediaId === '' || this.media.files.has(mediaId) ? undefined : invalid('The media ID does not exist')
  }

  #findTemplate({ template }: JsonObject) {
    return this.templates.find(textAt(template, 'name'), textAt(at(template, 'language'), 'code'))
  }

  #accept(payload: JsonObject): AcceptedSend {
    const { text, interactive, template } = payload
    const body = textAt(text, 'body') || textAt(at(interactive, 'body'), 'text')
    const send = {
      wamid: newWamid(),
      recipient: textAt(payload, 'to') || textAt(payload, 'recipient'),
      body: template ? renderBody(this.#findTemplate(payload)?.components ?? [], payload) : body,
      callbackData: textAt(payload, 'biz_opaque_callback_data') || null,
      payload,
      atMs: performance.now(),
    }
    this.log.add(send)
    this.#emitter.emit('accepted', send)
    return send
  }

  #reportStatuses(send: AcceptedSend, fault: Fault | undefined): Promise<void> {
    const updates =
      fault?.kind === 'undelivered' ? [{ status: 'failed' as const, errorCode: fault.errorCode }] : undefined
    return this.statusReports.report(send, updates ?? this.statuses.map((status) => ({ status })))
  }
}

async function toCall(request: IncomingMessage): Promise<Call> {
  const { method = 'GET', headers } = request
  const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://localhost')
  const [, version, ...path] = pathname.split('/').map(decodeURIComponent)
  const isVersioned = /^v\d+\.\d$/.test(version ?? '') || version === 'whatsapp_business'
  const max = path[1] === 'media' || path[0]?.startsWith('upload:') ? UPLOAD_BYTES_MAX : BODY_BYTES_MAX
  const bytes = (await readBytes(request, max)) ?? Buffer.alloc(0)
  const isControl = version === 'fake'
  return { method, path: isVersioned || isControl ? path : [], query, headers, bytes, isControl }
}

/** Responds to an accepted send, unless a fault loses the response. */
function respondToAccepted(
  send: AcceptedSend,
  fault: Fault | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): string {
  if (fault?.kind === 'hang') return 'accepted without a response'
  if (fault?.kind === 'contradict') return `accepted, but ${respondWithError(response, fault.error)}`
  if (fault?.kind !== 'reset') return respond(response, 200, acceptance(send))
  request.socket.resetAndDestroy()
  return 'accepted, and the connection reset'
}

/** Describes a message or another JSON object in one line. */
function describeContent({ method, bytes }: Call): string {
  const payload = method === 'POST' ? parseObject(bytes) : undefined
  return payload ? ` ${JSON.stringify(payload).slice(0, CONTENT_MAX)}` : ''
}

function acceptance({ wamid, recipient }: AcceptedSend): object {
  const contact = recipient.startsWith('+')
    ? { input: recipient, wa_id: recipient.slice(1) }
    : { input: recipient, user_id: recipient }
  return { messaging_product: 'whatsapp', contacts: [contact], messages: [{ id: wamid }] }
}
