import { StepError } from '../../engine/language/step-error.ts'
import type { StepReport, StepContext } from '../../engine/model/step.ts'
import { parseInstant } from '../../platform/calendar/zoned-time.ts'
import { CAPTION_MAX, TEXT_MAX } from '../../message-content/limits.ts'
import { type ButtonOption, toPreview } from '../../message-content/content.ts'
import type { WorkflowEffect } from '../effects.ts'
import { assertMaySend } from './assert-may-send.ts'
import { fillContent } from './fill-content.ts'
import { fillMedia } from './media.ts'
import { fillBody, fillCaption, type Message } from './message.ts'

/** Composes a message that the step sends, with its placeholders filled in. */
export function composeMessage(
  context: StepContext,
  { body, media, buttons: _buttons, template: _template, replyToId, ...parts }: Message,
  options: readonly ButtonOption[],
): StepReport & { messageId: string } {
  if (!isWindowOpen(context)) {
    throw new StepError(
      'outside_window',
      'The 24-hour service window of the conversation is closed, so only a template can be sent: use send_template or ifWindowClosed',
    )
  }
  assertMaySend(context, null)
  const content = fillContent(parts, context)
  // Options and links need a text.
  const needsText = !media || options.length > 0 || content.link !== undefined
  const max = media || content.link ? CAPTION_MAX : TEXT_MAX
  const replyTo = replyToId === undefined ? '' : context.text(replyToId).trim()
  const text = body === undefined ? null : needsText ? fillBody(body, context, max) : fillCaption(body, context)
  const message = {
    body: text ?? toPreview(content),
    buttons: options.map(({ id, title }) => ({ id, title })),
    ...(media ? { media: fillMedia(media, context) } : {}),
    ...(Object.keys(content).length > 0 ? { content } : {}),
    ...(replyTo ? { replyToId: replyTo } : {}),
  }
  const messageId = context.newId()
  const effect: WorkflowEffect = { type: 'send_message', messageId, ...message }
  return { input: { message }, effects: [effect], messageId }
}

/** True if free text may be sent. A conversation without a service window is governed by `canSendFreeform` alone. */
export function isWindowOpen({ facts, now }: StepContext): boolean {
  if (!facts.conversation) {
    throw new StepError('no_conversation', 'The run has no conversation to send to', { retryable: false })
  }
  const { windowExpiresAt, canSendFreeform } = facts.conversation
  if (typeof windowExpiresAt !== 'string') return canSendFreeform === true
  const expiresAt = parseInstant(windowExpiresAt, 'UTC')
  return expiresAt !== undefined && now.getTime() < expiresAt
}
