import type { InboundMessage, Sender } from '../../channels/channel.ts'
import { toSendableTemplate } from '../../channels/templates/fill-template.ts'
import type { ButtonOption, OutboundContent, TemplateContent } from '../../message-content/content.ts'
import { type FileKind, findFileProblem } from '../../message-content/stored-file.ts'
import { type Media as MediaRow, Message as MessageRow, Template as TemplateRow } from '../../models/messaging.ts'
import { InvalidError, NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { getField } from '../../platform/fields.ts'
import type { Scope } from '../../scope/scope.ts'
import { findContacts, senderKey } from '../inbound/resolve-senders.ts'
import type { Choice } from './schema.ts'

type Parts = Pick<InboundMessage, 'type' | 'body' | 'content'> & { replyToProviderId?: string | null }

/** An option with the parts of the message that chooses it, in the shape of the Cloud API. */
type Option = ButtonOption & { toParts(): Parts }

/** Statuses of messages that the customer has. */
const ARRIVED = new Set<MessageRow['status']>(['sent', 'delivered', 'read', 'played'])

/**
 * Builds the parts of a message that chooses an option.
 * @throws NotFoundError when the message is not one to this person
 * @throws UnprocessableError `replied_message_not_sent`, `option_unknown`
 */
export async function composeChoice(
  tx: Scope,
  { messageId, optionId }: Choice,
  { channelId, from }: { channelId: string; from: Sender },
): Promise<Parts> {
  const message = await tx.get(MessageRow, messageId)
  const { contacts } = await findContacts(tx, channelId, [from])
  const isToCustomer = message.contactId === contacts.get(senderKey(from)) && message.channelId === channelId
  if (!isToCustomer || message.direction === 'internal')
    throw new NotFoundError('Message', 'Name a message to this customer on the sandbox')
  if (message.direction !== 'outbound' || !ARRIVED.has(message.status)) {
    throw new UnprocessableError(
      'replied_message_not_sent',
      'The customer can only choose an option of a message that was sent to them. Name such a message',
    )
  }
  const options = await listOptions(tx, message.content)
  const chosen = options.find(({ id }) => id === optionId)
  if (chosen) return { ...chosen.toParts(), replyToProviderId: message.providerMessageId }
  throw new UnprocessableError(
    'option_unknown',
    options.length === 0
      ? 'The message has no options. Name a message with buttons, a list or quick replies'
      : 'The message has no such option. Name the ID of one of its options',
    { optionIds: options.map(({ id }) => id) },
  )
}

async function listOptions(tx: Scope, content: OutboundContent | Record<string, unknown> | null): Promise<Option[]> {
  const { buttons = [], list, template }: OutboundContent = content ?? {}
  if (template) return listQuickReplies(tx, template)
  return [
    ...buttons.map(({ id, title }) => toReply('button_reply', { id, title })),
    ...(list?.options ?? []).map((option) => toReply('list_reply', option)),
  ]
}

function toReply(type: 'button_reply' | 'list_reply', option: ButtonOption): Option {
  const content = { buttonId: option.id, interactive: { type, [type]: option } }
  return { ...option, toParts: () => ({ type: 'interactive', body: option.title, content }) }
}

/** Lists the quick replies of a template. A reply without a payload of its own returns its text. */
async function listQuickReplies(tx: Scope, { id, components }: TemplateContent): Promise<Option[]> {
  const template = await tx.find(TemplateRow, id)
  const payloads = new Map(
    components.flatMap((component): [string, string][] => {
      const [parameter]: unknown[] = Array.isArray(component['parameters']) ? component['parameters'] : []
      const payload = getField(parameter, 'payload')
      return typeof payload === 'string' ? [[`button.${String(component['index'])}`, payload]] : []
    }),
  )
  return ((template && toSendableTemplate(template)?.replies) ?? []).map((reply) => {
    const payload = payloads.get(reply.id) ?? reply.title
    const content = { buttonId: payload, button: { payload, text: reply.title } }
    return { ...reply, toParts: () => ({ type: 'button', body: reply.title, content }) }
  })
}

/** Kinds of messages that a file of their type is sent as. All other files are documents. */
const KINDS: readonly FileKind[] = ['image', 'video', 'audio', 'sticker']
const WITHOUT_CAPTION: ReadonlySet<FileKind> = new Set(['audio', 'sticker'])

/** Builds the parts of a message that is a stored file, by its type. */
export function composeFile(media: MediaRow, caption: string | undefined): Parts {
  const { id, mimeType, sha256, filename, isAnimated } = media
  const file = { mimeType, isAnimated, bytes: Number(media.bytes) }
  const type = KINDS.find((kind) => findFileProblem(kind, file) === undefined) ?? 'document'
  if (caption !== undefined && WITHOUT_CAPTION.has(type)) {
    const message = `A message of type ${type} has no caption. Leave body out, or send it as a message of its own`
    throw new InvalidError(message, [{ path: 'body', message: `is not allowed with a file of type ${type}` }])
  }
  const part = {
    id,
    mime_type: mimeType,
    sha256: Buffer.from(sha256, 'hex').toString('base64'),
    ...(caption === undefined ? {} : { caption }),
    ...(type === 'document' && filename !== null ? { filename } : {}),
  }
  return { type, body: caption ?? (type === 'document' ? filename : null), content: { [type]: part } }
}
