import { z } from 'zod'
import type { ButtonOption, ContentParts, MediaContent, TemplateContent } from '../../../message-content/content.ts'
import { BUTTONS_MAX, CAPTION_MAX } from '../../../message-content/limits.ts'
import type { OutboundMessage } from '../../channel.ts'
import { composeButtons, composeLink, composeList, fitButtons, fitList, numberOptions } from './options.ts'

const FileHeader = z.looseObject({
  type: z.literal('header'),
  parameters: z.tuple([z.looseObject({ type: z.enum(['image', 'video', 'document']) })]),
})
const StoredFile = z.looseObject({ mediaId: z.string() })
type Media = MediaContent & { source: object }

/** Builds the payload of a message for the Cloud API. It has our message id, which every status report returns. */
export function composePayload(message: OutboundMessage): Record<string, unknown> {
  const { messageId, to, replyToProviderId } = message
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    // A number without its plus is taken for a national one; an id of a person in `to` is ignored silently.
    ...(to.phone === null ? { recipient: to.userId } : { to: `+${to.phone.replace(/^\+/, '')}` }),
    ...(replyToProviderId && !message.content?.reaction ? { context: { message_id: replyToProviderId } } : {}),
    ...composeContent(message),
    biz_opaque_callback_data: messageId,
  }
}

function composeContent(message: OutboundMessage): Record<string, unknown> {
  const { body, content, replyToProviderId } = message
  const { buttons = [], media: file, template, sticker, location, contacts, reaction, list, link } = content ?? {}
  if (template) return composeTemplate(template, message)
  if (sticker) return { type: 'sticker', sticker: toSource(sticker, message) }
  const media = file && { ...file, source: toSource(file, message) }
  if (location) return { type: 'location', location }
  if (contacts) return { type: 'contacts', contacts: contacts.map(composeContact) }
  if (reaction) {
    return { type: 'reaction', reaction: { message_id: replyToProviderId, emoji: reaction.emoji ?? '' } }
  }
  if (list) return composeList(body, list)
  if (link) return composeLink(body, link, media && composeMedia(media, ''))
  return composeText({ body, buttons, media })
}

type Text = { body: string; buttons: ButtonOption[]; media: Media | undefined }

/** Options that fit neither reply buttons nor a list are numbered in the text. */
function composeText({ body, buttons, media }: Text): Record<string, unknown> {
  if (buttons.length <= BUTTONS_MAX && fitButtons(body, buttons) && media?.type !== 'audio') {
    return composeButtons(body, buttons, media && composeMedia(media, ''))
  }
  if (!media && fitList(body, buttons)) return composeList(body, { options: buttons })
  const text = numberOptions(body, buttons)
  return media ? composeMedia(media, text) : { type: 'text', text: { preview_url: false, body: text } }
}

function composeTemplate(template: TemplateContent, { providerMediaId }: OutboundMessage): Record<string, unknown> {
  const { name, language, components } = template
  const uploaded = providerMediaId === undefined ? components : components.map((one) => nameFile(one, providerMediaId))
  return { type: 'template', template: { name, language: { code: language }, components: uploaded } }
}

/** Replaces the stored file of a header by the provider's ID of it. */
function nameFile(component: Record<string, unknown>, providerMediaId: string): Record<string, unknown> {
  const [parameter] = FileHeader.safeParse(component).data?.parameters ?? []
  const file = parameter && StoredFile.safeParse(parameter[parameter.type]).data
  if (!file) return component
  const { mediaId: _mediaId, ...rest } = file
  return { ...component, parameters: [{ ...parameter, [parameter.type]: { id: providerMediaId, ...rest } }] }
}

/** The provider has the file already, or fetches it by its URL. */
function toSource({ url }: { url?: string | undefined }, { providerMediaId }: OutboundMessage): object {
  return url === undefined ? { id: providerMediaId } : { link: url }
}

/** Audio has no caption. */
function composeMedia({ type, source, filename }: Media, text: string): Record<string, unknown> {
  const caption = type === 'audio' || text === '' ? {} : { caption: text.slice(0, CAPTION_MAX).toWellFormed() }
  return { type, [type]: { ...source, ...caption, ...(filename ? { filename } : {}) } }
}

function composeContact({ name, phones, emails, organization }: NonNullable<ContentParts['contacts']>[number]): object {
  return {
    // The Cloud API requires a part of the name beside the whole.
    name: { formatted_name: name, first_name: name },
    ...(phones ? { phones } : {}),
    ...(emails ? { emails } : {}),
    ...(organization ? { org: organization } : {}),
  }
}
