import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { composeMessage, isWindowOpen } from './compose-message.ts'
import { mediaPaths } from './media.ts'
import { fillButtons, Message } from './message.ts'
import { sendTemplate, TemplateMessage, templatePaths, toTemplateMessage } from './template-message.ts'

/**
 * Sends a message. `ifWindowClosed` chooses the outcome when the service window is closed; a template is sent instead of
 * the message.
 */
export const sendMessage = defineStep({
  type: 'send_message',
  needsContact: true,
  schema: z.strictObject({
    message: Message,
    ifWindowClosed: z
      .union([z.enum(['fail', 'skip']), TemplateMessage], 'must be fail, skip or a template')
      .default('fail'),
  }),
  literal: [...templatePaths('message.'), ...templatePaths('ifWindowClosed.'), ...mediaPaths('message')],
  output: () => ({ messageId: null }),
  execute({ message, ifWindowClosed }, context) {
    if (message.template) {
      const sent = sendTemplate(context, toTemplateMessage(message.template))
      return { ...sent, kind: 'next', output: { messageId: sent.messageId } }
    }
    if (ifWindowClosed !== 'fail' && !isWindowOpen(context)) {
      if (ifWindowClosed === 'skip') return { kind: 'next', output: { messageId: null }, branch: 'window_closed' }
      const sent = sendTemplate(context, ifWindowClosed)
      return { ...sent, kind: 'next', output: { messageId: sent.messageId }, branch: 'window_closed' }
    }
    const report = composeMessage(context, message, fillButtons(message.buttons ?? [], context))
    return { ...report, kind: 'next', output: { messageId: report.messageId } }
  },
})
