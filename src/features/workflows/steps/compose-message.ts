import { StepError } from '../../../engine/step-error.ts'
import type { Told, Turn } from '../../../engine/step.ts'
import { parseInstant } from '../../../platform/zoned-time.ts'
import type { WorkflowEffect } from './effects.ts'
import { fillBody, type Option } from './message.ts'

/** A message that goes out with the step, its placeholders filled in. */
export function composeMessage(turn: Turn, body: string, options: readonly Option[]): Told & { messageId: string } {
  if (!isWindowOpen(turn)) {
    throw new StepError('outside_window', 'The 24-hour window of the conversation is closed: free text cannot be sent')
  }
  const filled = fillBody(body, turn)
  const buttons = options.map(({ id, title }) => ({ id, title }))
  const messageId = turn.newId()
  const effect: WorkflowEffect = { type: 'send_message', messageId, body: filled, buttons }
  return { input: { message: { body: filled, buttons } }, effects: [effect], messageId }
}

/** A conversation without such a window says by `canSendFreeform` alone whether it takes free text. */
export function isWindowOpen({ facts, now }: Turn): boolean {
  if (!facts.conversation) {
    throw new StepError('no_conversation', 'The run has no conversation to send to', { retryable: false })
  }
  const { windowExpiresAt, canSendFreeform } = facts.conversation
  if (typeof windowExpiresAt !== 'string') return canSendFreeform === true
  const expiresAt = parseInstant(windowExpiresAt, 'UTC')
  return expiresAt !== undefined && now.getTime() < expiresAt
}
