import type { Readable } from 'node:stream'
import type { InboundContent, OutboundContent } from '../message-content/content.ts'
import { SECOND } from '../platform/time.ts'
import type { TemplateCategory } from './templates/fill-template.ts'
import type { ParameterFormat } from './templates/variables.ts'

/** Limit of one send. A process that stops waits for the sends in flight, whose delivery is unknown without a response. */
export const SEND_MAX_MS = 15 * SECOND

/**
 * Adapter of a provider. It knows nothing of contacts or workflows: it parses inbound messages, sends outbound ones and
 * maps every response of the provider to one of five results.
 */
export interface Channel {
  /** Returns the response to the verification request of a provider; undefined rejects it. */
  answerHandshake(query: URLSearchParams): string | undefined
  /** Returns true if the provider signed this body. */
  hasValidSignature(body: Buffer, header: (name: string) => string): boolean
  /**
   * Parses the body of a genuine webhook call. Unknown kinds are skipped, never rejected.
   * @throws InvalidError when the body is not JSON
   */
  parse(body: Buffer): Inbound
  /** Opens a file that a customer sent; never throws. The caller reads or destroys the stream. */
  download(providerMediaId: string, signal: AbortSignal): Promise<FileDownload>
  /**
   * Uploads a file that messages can then name; never throws, and reads or destroys the stream. Null if the channel needs
   * no files.
   */
  readonly upload: ((file: OutboundFile, signal: AbortSignal) => Promise<UploadResult>) | null
  /** Sends a message; never throws. A send that `signal` aborts may have been accepted: its result is `unknown`. */
  send(message: OutboundMessage, signal?: AbortSignal): Promise<SendResult>
  /** Marks a message of a customer as read, and optionally shows that somebody is typing. Throws if that fails. */
  markRead(providerMessageId: string, options: { showsTyping: boolean }): Promise<void>
  /** Templates of the provider's account; null if the channel has none or does not name its account. */
  readonly templates: TemplateProvider | null
}

/** Author of an inbound message. At least one of `phone` and `userId` is not null. */
export type Sender = {
  /** E.164; null if the provider identifies the sender otherwise. */
  phone: string | null
  /** The provider's id of the person, scoped to the business. */
  userId: string | null
  /** The provider's id of the person, scoped to a group of businesses. */
  parentUserId?: string | null
  profileName: string | null
  username: string | null
}

export type InboundMessage = {
  providerMessageId: string
  from: Sender
  type: string
  /** Text to show in a list; null if the message has none. */
  body: string | null
  content: InboundContent | null
  replyToProviderId?: string | null
  /** File of the message, which the provider keeps; null if it has none. */
  file?: ProviderFile | null
  at: Date
}

/** File that a provider keeps for some time. What it does not mention is null. */
export type ProviderFile = {
  providerMediaId: string
  mimeType: string | null
  filename: string | null
  /** In hexadecimal. */
  sha256: string | null
}

/** Content of a file, or the reason why there is none; `isFinal` if the provider will never have it again. */
/** File of a provider. `bytes` is the size that it announces; 0 if it does not. */
export type FileDownload =
  | { stream: Readable; bytes: number; sha256: string | null; mimeType: string | null }
  | { problem: string; isFinal: boolean }

export type ProviderStatus = 'sent' | 'delivered' | 'read' | 'played' | 'failed'

export type StatusUpdate = {
  providerMessageId: string
  status: ProviderStatus
  at: Date
  error: ProviderError | null
  /** Our own id of the message, if the provider returns it. */
  messageId: string | null
  /** Phone number or provider's id of the recipient. */
  recipient: string | null
  /** Pricing as the provider reports it. */
  pricing: Record<string, unknown> | null
}

/** Change of a message template. Its text identifies the template if the provider's id is unknown. */
export type TemplateUpdate = {
  providerTemplateId: string | null
  name: string | null
  language: string | null
  /** Time of the report; null if the provider names none. */
  at: Date | null
  change:
    | {
        kind: 'status'
        /** Event in the words of the provider, in lower case. */
        event: string
        /** Status that the event leads to; null if it changes none. */
        status:
          'pending' | 'approved' | 'rejected' | 'paused' | 'disabled' | 'in_appeal' | 'archived' | 'deleted' | null
        reason: string | null
      }
    | { kind: 'quality'; quality: Quality }
    /** `isPending`: the provider will change the category at a later time. */
    | { kind: 'category'; category: 'marketing' | 'utility' | 'authentication'; isPending: boolean }
    /** The text was edited at the provider. */
    | { kind: 'components' }
}

export type Quality = 'green' | 'yellow' | 'red' | 'unknown'

/** Choice of a person, at the provider, to receive messages of a category or not. */
export type PreferenceUpdate = {
  from: Sender
  category: 'marketing'
  choice: 'opted_in' | 'opted_out'
  /** Explanation by the provider. */
  detail: string | null
  at: Date
}

/** Message to a customer that a member wrote in the provider's own app, or that we sent by the API. */
export type MessageEcho = Omit<InboundMessage, 'from'> & { to: Sender }

/** Change of the phone number or the provider's id of a person. */
export type NumberChange = { from: Sender; to: Sender; at: Date }

/** Change of the channel itself. Parts that the provider does not mention are null. */
export type ChannelUpdate = {
  at: Date | null
  /** Number that the change is about, in E.164; null if it is about all numbers of the account. */
  phone: string | null
  quality: Quality | null
  /** Contacts per day that may be written to first: a number in digits, or `unlimited`. */
  messagingLimit: string | null
  /** Messages per second. */
  throughput: number | null
  /** `restricted`: the provider accepts no messages until somebody repairs the account. */
  sending: 'restricted' | 'restored' | null
  alert: { code: string; message: string; severity: 'info' | 'warning' | 'critical' } | null
}

/** Parsed webhook call. */
export type Inbound = {
  messages: InboundMessage[]
  statuses: StatusUpdate[]
  templateUpdates: TemplateUpdate[]
  preferences: PreferenceUpdate[]
  echoes: MessageEcho[]
  numberChanges: NumberChange[]
  channelUpdates: ChannelUpdate[]
  /** Number of parts that were skipped: malformed, unknown, or of another number. */
  ignored: number
  /** Fields and types that the adapter does not know, such as `field:flows` and `message:hologram`, each once. */
  unknown: string[]
}

export function emptyInbound(): Inbound {
  return {
    messages: [],
    statuses: [],
    templateUpdates: [],
    preferences: [],
    echoes: [],
    numberChanges: [],
    channelUpdates: [],
    ignored: 0,
    unknown: [],
  }
}

export type ProviderError = {
  /** Our own code, the same for all providers. */
  code: string
  message: string
  providerCode: number | null
  retryable: boolean
  /** Suggested remedy. */
  hint?: string | null
}

export type OutboundMessage = {
  messageId: string
  to: { phone: string | null; userId: string | null }
  body: string
  content: OutboundContent | null
  /** The provider's id of the message that this one answers or reacts to. */
  replyToProviderId?: string | null
  /** The provider's id of the stored file; absent if the message has none. */
  providerMediaId?: string
}

/** Stored file to upload. */
export type OutboundFile = { stream: Readable; mimeType: string; bytes: number }

/**
 * Result of a send.
 * `accepted`: the provider took the message; `recipientAddress` is its spelling of the address. `refused`: it did not,
 * and never will. `retry`: it did not, and may later; `scope` states whether only this recipient's messages wait, which
 * keep their order, or the whole channel, and `afterMs` how long after a first attempt, or after any attempt if the
 * provider named the wait (`isExact`). `stopped`: nothing can be sent
 * on this channel until it is repaired. `unknown`: the provider may or may not have taken it.
 */
export type SendResult =
  | { kind: 'accepted'; providerMessageId: string; recipientAddress: string | null }
  | { kind: 'refused'; error: ProviderError }
  | { kind: 'retry'; error: ProviderError; afterMs: number; scope: 'recipient' | 'channel'; isExact?: boolean }
  | { kind: 'stopped'; error: ProviderError }
  | { kind: 'unknown'; error: ProviderError }

/** Result of an upload. Nothing was sent, so a failure is never `unknown`. */
export type UploadResult =
  { kind: 'uploaded'; providerMediaId: string } | Exclude<SendResult, { kind: 'accepted' | 'unknown' }>

/** Content of a template as it is sent to the provider. */
export type TemplateSubmission = {
  name: string
  language: string
  category: TemplateCategory
  parameterFormat: ParameterFormat | null
  components: Record<string, unknown>[]
}

/** Statuses that a provider sets. */
export type ProviderTemplateStatus =
  'pending' | 'approved' | 'rejected' | 'paused' | 'disabled' | 'in_appeal' | 'archived' | 'deleted'

/** A template as the provider lists it. */
export type ProviderTemplate = Omit<TemplateSubmission, 'parameterFormat'> & {
  providerTemplateId: string
  status: ProviderTemplateStatus
  quality: 'green' | 'yellow' | 'red' | null
  rejectionReason: string | null
}

/**
 * Templates of a provider's account. Every call ends within its deadline; without a response it may have been executed.
 * @throws BadGatewayError `provider_error` with the provider's reason
 */
export interface TemplateProvider {
  /** Returns null for a category or status that the provider did not name. */
  create(template: TemplateSubmission): Promise<{
    providerTemplateId: string
    status: ProviderTemplateStatus | null
    category: TemplateCategory | null
  }>
  /** Replaces the content of a rejected template, which is reviewed again. */
  replace(providerTemplateId: string, template: TemplateSubmission): Promise<void>
  /** Deletes a template; one that does not exist is deleted already. */
  remove(template: { providerTemplateId: string; name: string }): Promise<void>
  /** Lists a page. `next` is the cursor of the following one; `skipped` counts templates that cannot be read. */
  listPage(cursor: string | null): Promise<{ templates: ProviderTemplate[]; skipped: number; next: string | null }>
}
