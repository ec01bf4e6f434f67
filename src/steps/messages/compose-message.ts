import { StepError } from '../../engine/language/step-error.ts'
import type { StepReport, StepContext } from '../../engine/model/step.ts'
import { parseInstant } from '../../platform/calendar/zoned-time.ts'
import type { WorkflowEffect } from '../effects.ts'
import { fillMedia } from './media.ts'
import { fillBody, fillCaption, type Message, type ButtonOption } from './message.ts'

/** Composes a message that the step sends, with its placeholders filled in. */
export function composeMessage(
  context: StepContext,
  { body, media }: Pick<Message, 'body' | 'media'>,
  options: readonly ButtonOption[],
): StepReport & { messageId: string } {
  if (!isWindowOpen(context)) {
    throw new StepError(
      'outside_window',
      'The 24-hour service window of the conversation is closed, so free text cannot be sent',
    )
  }
  // Buttons need a text.
  const needsText = !media || options.length > 0
  const message = {
    body: body === undefined ? null : needsText ? fillBody(body, context) : fillCaption(body, context),
    buttons: options.map(({ id, title }) => ({ id, title })),
    ...(media ? { media: fillMedia(media, context) } : {}),
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
