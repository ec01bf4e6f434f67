import { z } from 'zod'
import type { OutboundMessage } from '../channel.ts'

const BUTTONS_MAX = 3
const BUTTON_TITLE_MAX = 20
const BUTTON_BODY_MAX = 1024
const CAPTION_MAX = 1024
const TEXT_MAX = 4096

const Content = z.object({
  buttons: z.array(z.object({ id: z.string(), title: z.string() })).catch([]),
  media: z
    .object({
      type: z.enum(['image', 'video', 'audio', 'document']),
      url: z.string(),
      filename: z.string().optional(),
    })
    .optional()
    .catch(undefined),
  template: z
    .object({ name: z.string(), language: z.string(), components: z.array(z.record(z.string(), z.unknown())) })
    .optional()
    .catch(undefined),
})
type Button = z.output<typeof Content>['buttons'][number]
type Media = NonNullable<z.output<typeof Content>['media']>
type Template = NonNullable<z.output<typeof Content>['template']>

/** Builds the payload of a message for the Cloud API. It has our message id, which every status report returns. */
export function composePayload(message: OutboundMessage): Record<string, unknown> {
  const { messageId, to, body, content, replyToProviderId } = message
  const { buttons = [], media, template } = Content.safeParse(content).data ?? {}
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    // A number without its plus is taken for a national one; an id of a person in `to` is ignored silently.
    ...(to.phone === null ? { recipient: to.userId } : { to: `+${to.phone.replace(/^\+/, '')}` }),
    ...(replyToProviderId ? { context: { message_id: replyToProviderId } } : {}),
    ...(template ? composeTemplate(template) : compose(body, buttons, media)),
    biz_opaque_callback_data: messageId,
  }
}

function composeTemplate({ name, language, components }: Template): Record<string, unknown> {
  return { type: 'template', template: { name, language: { code: language }, components } }
}

function compose(body: string, buttons: Button[], media: Media | undefined): Record<string, unknown> {
  if (fitButtons(body, buttons) && media?.type !== 'audio') return withButtons(body, buttons, media)
  const text = composeText(body, buttons)
  return media ? withMedia(media, text) : { type: 'text', text: { preview_url: false, body: text } }
}

/** The provider fetches the file by its URL. Audio has no caption. */
function withMedia({ type, url, filename }: Media, text: string): Record<string, unknown> {
  const caption = type === 'audio' || text === '' ? {} : { caption: text.slice(0, CAPTION_MAX).toWellFormed() }
  return { type, [type]: { link: url, ...caption, ...(filename ? { filename } : {}) } }
}

function fitButtons(body: string, buttons: Button[]): boolean {
  return (
    buttons.length > 0 &&
    buttons.length <= BUTTONS_MAX &&
    body.length <= BUTTON_BODY_MAX &&
    new Set(buttons.map(({ title }) => title)).size === buttons.length &&
    buttons.every(({ title }) => title.length <= BUTTON_TITLE_MAX)
  )
}

function withButtons(body: string, buttons: Button[], media: Media | undefined): Record<string, unknown> {
  const header = media ? { header: withMedia(media, '') } : {}
  const action = { buttons: buttons.map(({ id, title }) => ({ type: 'reply', reply: { id, title } })) }
  return { type: 'interactive', interactive: { type: 'button', ...header, body: { text: body }, action } }
}

/** Lists options that do not fit into buttons under the text, numbered. */
function composeText(body: string, options: Button[]): string {
  const list = options.map(({ title }, index) => `\n${index + 1}. ${title}`).join('')
  return list === '' ? body : `${body.slice(0, TEXT_MAX - list.length - 1).toWellFormed()}\n${list}`
}
