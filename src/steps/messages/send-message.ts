import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { composeMessage, isWindowOpen } from './compose-message.ts'
import { fillButtons, Message } from './message.ts'

/** `ifWindowClosed` says what becomes of the step when free text may not be sent. */
export const sendMessage = defineStep({
  type: 'send_message',
  schema: z.strictObject({ message: Message, ifWindowClosed: z.enum(['fail', 'skip']).default('fail') }),
  execute({ message, ifWindowClosed }, turn) {
    if (ifWindowClosed === 'skip' && !isWindowOpen(turn)) {
      return { kind: 'next', output: { messageId: null }, branch: 'window_closed' }
    }
    const sent = composeMessage(turn, message, fillButtons(message.buttons ?? [], turn))
    return { ...sent, kind: 'next', output: { messageId: sent.messageId } }
  },
})
