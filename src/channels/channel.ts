/**
 * What a provider's adapter does. It knows nothing of contacts or workflows: messages come out of it and go into it,
 * and every way a provider can answer is one of a few.
 */
export interface Channel {
  /** Answers the question a provider asks before it sends; undefined refuses. */
  answerHandshake(query: URLSearchParams): string | undefined
  /** Whether the provider wrote these bytes. */
  isGenuine(body: Buffer, header: (name: string) => string): boolean
  /** Reads what a genuine body says. Kinds it does not know are passed over, never refused. */
  parse(body: Buffer): Inbound
  send(message: OutboundMessage): Promise<SendResult>
}

export type Sender = {
  /** E.164; null for somebody whom the provider names otherwise. */
  phone: string | null
  /** The provider's own id of a person, scoped to the business. */
  userId: string | null
  profileName: string | null
  username: string | null
}

export type InboundMessage = {
  providerMessageId: string
  from: Sender
  type: string
  /** What a list can show, or null where there is no text. */
  body: string | null
  content: Record<string, unknown> | null
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
}

export type Inbound = { messages: InboundMessage[]; statuses: StatusUpdate[] }

export type ProviderError = {
  /** Ours, whichever provider it is. */
  code: string
  message: string
  providerCode: number | null
  retryable: boolean
}

export type OutboundMessage = {
  messageId: string
  to: { phone: string | null; userId: string | null }
  body: string
  content: Record<string, unknown> | null
}

/**
 * How a send ended.
 * `accepted`: the provider has it. `refused`: it does not, and never will. `retry`: it does not, and may later;
 * `scope` says who has to wait. `stopped`: nothing can be sent on this channel until somebody mends it.
 * `unknown`: it may or may not have it.
 */
export type SendResult =
  | { kind: 'accepted'; providerMessageId: string }
  | { kind: 'refused'; error: ProviderError }
  | { kind: 'retry'; error: ProviderError; afterMs: number; scope: 'recipient' | 'channel' }
  | { kind: 'stopped'; error: ProviderError }
  | { kind: 'unknown'; error: ProviderError }
