import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { sendTemplate, templateFields, templatePaths } from './template-message.ts'

/** Sends a message made from an approved template, which needs no open service window. */
export const sendTemplateStep = defineStep({
  type: 'send_template',
  needsContact: true,
  schema: z.strictObject(templateFields),
  literal: templatePaths(),
  output: () => ({ messageId: null }),
  execute(message, context) {
    const report = sendTemplate(context, message)
    return { ...report, kind: 'next', output: { messageId: report.messageId } }
  },
})
