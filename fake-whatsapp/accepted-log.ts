import type { JsonObject } from './http.ts'

export type AcceptedSend = {
  wamid: string
  /** A number with its plus, or a user id. */
  recipient: string
  /** Text of the message: of a template with its parameters, otherwise of a text or of what has buttons. */
  body: string
  callbackData: string | null
  payload: JsonObject
  /** Time of acceptance, of the monotonic clock. */
  atMs: number
}

const SENDS_MAX = 500_000

/** The provider's own record of all messages that it accepted. */
export class AcceptedLog {
  readonly sends: AcceptedSend[] = []
  readonly #byRecipient = new Map<string, AcceptedSend[]>()

  add(send: AcceptedSend): void {
    if (this.sends.length >= SENDS_MAX) throw new Error(`The fake Cloud API keeps at most ${SENDS_MAX} sends.`)
    this.sends.push(send)
    const sends = this.#byRecipient.get(send.recipient)
    if (sends) sends.push(send)
    else this.#byRecipient.set(send.recipient, [send])
  }

  /** Lists what one recipient got, in order of acceptance. The recipient is a number with its plus, or a user id. */
  listFor(recipient: string): AcceptedSend[] {
    return this.#byRecipient.get(recipient) ?? []
  }

  /** All sends by recipient. */
  get byRecipient(): ReadonlyMap<string, AcceptedSend[]> {
    return this.#byRecipient
  }
}
