import { StepError } from '../../engine/language/step-error.ts'
import type { StepReport, StepContext } from '../../engine/model/step.ts'
import { parseInstant } from '../../platform/zoned-time.ts'
import type { WorkflowEffect } from '../effects.ts'
import { fillMedia } from './media.ts'
import { fillBody, fillCaption, type Message, type ButtonOption } from './message.ts'

/** A message that goes out with the step, its placeholders filled in. */
export function composeMessage(
  turn: StepContext,
  { body, media }: Pick<Message, 'body' | 'media'>,
  options: readonly ButtonOption[],
): StepReport & { messageId: string } {
  if (!isWindowOpen(turn)) {
    throw new StepError('outside_window', 'The 24-hour window of the conversation is closed: free text cannot be sent')
  }
  // Buttons hang on words, so there must be some.
  const hasToSpeak = !media || options.length > 0
  const filled = {
    body: body === undefined ? null : hasToSpeak ? fillBody(body, turn) : fillCaption(body, turn),
    buttons: options.map(({ id, title }) => ({ id, title })),
    ...(media ? { media: fillMedia(media, turn) } : {}),
  }
  const messageId = turn.newId()
  const effect: WorkflowEffect = { type: 'send_message', messageId, ...filled }
  return { input: { message: filled }, effects: [effect], messageId }
}

/** A conversation without such a window says by `canSendFreeform` alone whether it takes free text. */
export function isWindowOpen({ facts, now }: StepContext): boolean {
  if (!facts.conversation) {
    throw new StepError('no_conversation', 'The run has no conversation to send to', { retryable: false })
  }
  const { windowExpiresAt, canSendFreeform } = facts.conversation
  if (typeof windowExpiresAt !== 'string') return canSendFreeform === true
  const expiresAt = parseInstant(windowExpiresAt, 'UTC')
  return expiresAt !== undefined && now.getTime() < expiresAt
}
