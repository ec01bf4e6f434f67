/**
 * What a provider's adapter does. It knows nothing of contacts or workflows: messages come out of it and go into it,
 * and every way a provider can answer is one of a few.
 */
export interface Channel {
  /** Answers the question a provider asks before it sends; undefined refuses. */
  answerHandshake(query: URLSearchParams): string | undefined
  /** Whether the provider wrote these bytes. */
  isGenuine(body: Buffer, header: (name: string) => string): boolean
  /**
   * Reads what a genuine body says. Kinds it does not know are passed over, never refused.
   * @throws InvalidError when the body is no JSON
   */
  parse(body: Buffer): Inbound
  /** Never throws. A send that `signal` cuts short may have been accepted: it ends as `unknown`. */
  send(message: OutboundMessage, signal?: AbortSignal): Promise<SendResult>
}

/** At least one of `phone` and `userId` is there. */
export type Sender = {
  /** E.164; null for somebody whom the provider names otherwise. */
  phone: string | null
  /** The provider's own id of a person, scoped to the business. */
  userId: string | null
  /** The same person's id at a group of businesses, where the provider has such. */
  parentUserId?: string | null
  profileName: string | null
  username: string | null
}

export type InboundMessage = {
  providerMessageId: string
  from: Sender
  type: string
  /** What a list can show, or null where there is no text. */
  body: string | null
  /** What it holds beyond its text, by type; `buttonId` is the option that was chosen. */
  content: Record<string, unknown> | null
  replyToProviderId?: string | null
  at: Date
}

export type ProviderStatus = 'sent' | 'delivered' | 'read' | 'played' | 'failed'

export type StatusUpdate = {
  providerMessageId: string
  status: ProviderStatus
  at: Date
  error: ProviderError | null
  /** The id of our own message, if the provider gives it back. */
  messageId: string | null
  /** The phone number or the provider's id of whom it went to. */
  recipient: string | null
  /** What the provider says of its price, in the provider's words. */
  pricing: Record<string, unknown> | null
}

/** `ignored` counts what was passed over. */
export type Inbound = { messages: InboundMessage[]; statuses: StatusUpdate[]; ignored: number }

export type ProviderError = {
  /** Ours, whichever provider it is. */
  code: string
  message: string
  providerCode: number | null
  retryable: boolean
  /** What can be done about it. */
  hint?: string | null
}

export type OutboundMessage = {
  messageId: string
  to: { phone: string | null; userId: string | null }
  body: string
  /** `buttons`, a list of `{id, title}`, are answers to choose from; `media`, `{type, url, filename}`, is a file. */
  content: Record<string, unknown> | null
  replyToProviderId?: string | null
}

/**
 * How a send ended.
 * `accepted`: the provider has it, under an address it may spell otherwise. `refused`: it does not, and never will.
 * `retry`: it does not, and may later; `scope` says who has to wait (a person's messages keep their order, so all of
 * them), `afterMs` how long the first time. `stopped`: nothing can be sent on this channel until somebody mends it.
 * `unknown`: it may or may not have it.
 */
export type SendResult =
  | { kind: 'accepted'; providerMessageId: string; recipientAddress: string | null }
  | { kind: 'refused'; error: ProviderError }
  | { kind: 'retry'; error: ProviderError; afterMs: number; scope: 'recipient' | 'channel' }
  | { kind: 'stopped'; error: ProviderError }
  | { kind: 'unknown'; error: ProviderError }
