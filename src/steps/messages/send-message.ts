import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { composeMessage, isWindowOpen } from './compose-message.ts'
import { fillButtons, Message } from './message.ts'

/** Sends a message. `ifWindowClosed` chooses the outcome when the service window is closed. */
export const sendMessage = defineStep({
  type: 'send_message',
  schema: z.strictObject({ message: Message, ifWindowClosed: z.enum(['fail', 'skip']).default('fail') }),
  execute({ message, ifWindowClosed }, context) {
    if (ifWindowClosed === 'skip' && !isWindowOpen(context)) {
      return { kind: 'next', output: { messageId: null }, branch: 'window_closed' }
    }
    const report = composeMessage(context, message, fillButtons(message.buttons ?? [], context))
    return { ...report, kind: 'next', output: { messageId: report.messageId } }
  },
})
