import { createHmac, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../src/platform/time.ts'

export type SentWebhook = { wamid: string; status: number }

/** The sender of a message; `from` is the number without its plus, absent if only `userId` is known. */
export type CloudApiSender = { from?: string; userId?: string; name?: string; username?: string }
export type StatusName = 'sent' | 'delivered' | 'read' | 'played' | 'failed'

const TIMEOUT_MS = 10_000
const RETRY_DELAY_MS = 500
const CONTENT_MAX = 500
export const DISPLAY_NUMBER = '15550783881'

export function newWamid(): string {
  return `wamid.HBgL${randomBytes(24).toString('base64')}`
}

type BusinessNumber = {
  phoneNumberId: string
  wabaId: string
  appSecret: string
  verifyToken: string
  clock: Clock
}

/** Sends the signed webhooks of one business number to the application. */
export class CloudApiWebhooks {
  /** URL that receives the webhooks; it must be set before the first one is sent. */
  callbackUrl: string | undefined
  readonly #number: BusinessNumber

  constructor(number: BusinessNumber) {
    this.#number = number
  }

  /** Share of the webhooks that are delivered twice. */
  duplicatedShare = 0
  /** Number of repetitions of a webhook that was not acknowledged, with growing waits. */
  retries = 0
  /** Called with a line for each webhook and the status of its response; 0 without one. */
  onDelivery: (line: string) => void = () => undefined

  /** Sends any body, by default with a valid signature, and returns the status of the response. */
  async post(body: string, signature = this.sign(body)): Promise<number> {
    const status = await this.#postWithRetries(body, signature)
    const isDuplicated = this.duplicatedShare > 0 && Math.random() < this.duplicatedShare
    return isDuplicated ? this.#postWithRetries(body, signature) : status
  }

  async #postWithRetries(body: string, signature: string): Promise<number> {
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt >= this.retries
      const status = await this.#postOnce(body, signature).catch((error: unknown) => {
        this.onDelivery(`${describeBody(body)}: no response`)
        if (isLast) throw error
        return 0
      })
      if (status !== 0) this.onDelivery(`${describeBody(body)}: ${status}`)
      if (status === 200 || isLast) return status
      await delay(RETRY_DELAY_MS * 2 ** attempt)
    }
  }

  async #postOnce(body: string, signature: string): Promise<number> {
    const response = await fetch(this.#url(), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': signature },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await response.arrayBuffer()
    return response.status
  }

  sign(body: string): string {
    return `sha256=${createHmac('sha256', this.#number.appSecret).update(body).digest('hex')}`
  }

  async requestHandshake(
    verifyToken = this.#number.verifyToken,
  ): Promise<{ status: number; body: string; challenge: string }> {
    const challenge = String(randomBytes(4).readUInt32BE())
    const query = { 'hub.mode': 'subscribe', 'hub.challenge': challenge, 'hub.verify_token': verifyToken }
    const response = await fetch(`${this.#url()}?${new URLSearchParams(query)}`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return { status: response.status, body: await response.text(), challenge }
  }

  sendText({
    body,
    ...message
  }: CloudApiSender & { body: string; wamid?: string; replyTo?: string }): Promise<SentWebhook> {
    return this.sendMessage({ ...message, message: { type: 'text', text: { body } } })
  }

  /** Sends a message of any kind: `message` holds its type and the content under that name. */
  async sendMessage(
    inbound: CloudApiSender & { message: object; wamid?: string; replyTo?: string },
  ): Promise<SentWebhook> {
    const { wamid = newWamid(), from, userId, name = 'Ana Souza', username, message, replyTo } = inbound
    const contact = {
      profile: { name, ...(username ? { username } : {}) },
      ...(from ? { wa_id: from } : {}),
      ...(userId ? { user_id: userId } : {}),
    }
    const payload = {
      ...(from ? { from } : {}),
      ...(userId ? { from_user_id: userId } : {}),
      id: wamid,
      timestamp: this.#timestamp(),
      ...(replyTo ? { context: { from: DISPLAY_NUMBER, id: replyTo } } : {}),
      ...message,
    }
    return { wamid, status: await this.post(this.envelope({ contacts: [contact], messages: [payload] })) }
  }

  /** Reports statuses of sent messages and returns the status of the response; a failure needs an error code. */
  sendStatuses(statuses: { wamid: string; status: StatusName; callbackData?: string | null; errorCode?: number }[]) {
    const payload = statuses.map(({ wamid, status, callbackData, errorCode }) => ({
      id: wamid,
      status,
      timestamp: this.#timestamp(),
      ...(callbackData ? { biz_opaque_callback_data: callbackData } : {}),
      ...(errorCode === undefined ? {} : { errors: [errorBody(errorCode)] }),
      ...(status === 'failed' ? {} : { pricing: { billable: true, pricing_model: 'PMP', category: 'service' } }),
    }))
    return this.post(this.envelope({ statuses: payload }))
  }

  /** Reports that a person stops or resumes marketing messages in the settings of the chat. */
  sendPreference({ from, value }: { from: string; value: 'stop' | 'resume' }): Promise<number> {
    const preference = {
      wa_id: from,
      detail: `User requested to ${value} marketing messages`,
      category: 'marketing_messages',
      value,
      timestamp: Number(this.#timestamp()),
    }
    return this.sendChange('user_preferences', {
      ...this.#metadata(),
      contacts: [{ wa_id: from }],
      user_preferences: [preference],
    })
  }

  /** Reports a message that the business sent with the phone app. */
  async sendEcho({ to, body, wamid = newWamid() }: { to: string; body: string; wamid?: string }): Promise<SentWebhook> {
    const echo = { from: DISPLAY_NUMBER, to, id: wamid, timestamp: this.#timestamp(), type: 'text', text: { body } }
    return {
      wamid,
      status: await this.sendChange('smb_message_echoes', { ...this.#metadata(), message_echoes: [echo] }),
    }
  }

  /** Sends a webhook of one field of the business account, and returns the status of the response. */
  sendChange(field: string, value: object): Promise<number> {
    return this.post(this.accountEnvelope(field, value))
  }

  /** Body of a webhook of this number. */
  envelope(value: object, field = 'messages'): string {
    return this.accountEnvelope(field, { ...this.#metadata(), ...value })
  }

  /** Body of a webhook of the business account, which names no number. */
  accountEnvelope(field: string, value: object): string {
    const entry = { id: this.#number.wabaId, time: Number(this.#timestamp()), changes: [{ field, value }] }
    return JSON.stringify({ object: 'whatsapp_business_account', entry: [entry] })
  }

  #metadata(): object {
    const metadata = { display_phone_number: DISPLAY_NUMBER, phone_number_id: this.#number.phoneNumberId }
    return { messaging_product: 'whatsapp', metadata }
  }

  #timestamp(): string {
    return String(Math.floor(this.#number.clock.now().getTime() / 1000))
  }

  #url(): string {
    if (this.callbackUrl === undefined) throw new Error('Set callbackUrl before the fake Cloud API sends webhooks.')
    return this.callbackUrl
  }
}

function describeBody(body: string): string {
  return body.length > CONTENT_MAX ? `${body.slice(0, CONTENT_MAX)}…` : body
}

function errorBody(code: number): object {
  return { code, title: `Error ${code}`, message: `Error ${code}`, error_data: { details: `Details of ${code}` } }
}
