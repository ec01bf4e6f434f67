import { z } from 'zod'
import type { OutboundMessage } from '../channel.ts'

const BUTTONS_MAX = 3
const BUTTON_TITLE_MAX = 20
const BUTTON_BODY_MAX = 1024
const TEXT_MAX = 4096

const Content = z.object({ buttons: z.array(z.object({ id: z.string(), title: z.string() })).catch([]) })
type Button = z.output<typeof Content>['buttons'][number]

/** A message as the Cloud API takes it. Our id goes along and comes back with every status. */
export function composePayload(message: OutboundMessage): Record<string, unknown> {
  const { messageId, to, body, content, replyToProviderId } = message
  const buttons = Content.safeParse(content).data?.buttons ?? []
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    // A number without its plus is read as one of the business's own country; a person's id in `to` is lost silently.
    ...(to.phone === null ? { recipient: to.userId } : { to: `+${to.phone.replace(/^\+/, '')}` }),
    ...(replyToProviderId ? { context: { message_id: replyToProviderId } } : {}),
    ...(fitButtons(body, buttons) ? withButtons(body, buttons) : withText(body, buttons)),
    biz_opaque_callback_data: messageId,
  }
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

function withButtons(body: string, buttons: Button[]): Record<string, unknown> {
  const action = { buttons: buttons.map(({ id, title }) => ({ type: 'reply', reply: { id, title } })) }
  return { type: 'interactive', interactive: { type: 'button', body: { text: body }, action } }
}

/** Options that do not fit buttons are numbered under the text. */
function withText(body: string, options: Button[]): Record<string, unknown> {
  const list = options.map(({ title }, index) => `\n${index + 1}. ${title}`).join('')
  const text = list === '' ? body : `${body.slice(0, TEXT_MAX - list.length - 1).toWellFormed()}\n${list}`
  return { type: 'text', text: { preview_url: false, body: text } }
}
