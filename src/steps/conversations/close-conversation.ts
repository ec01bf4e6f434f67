import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { requireConversation } from '../contacts/contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Closes the conversation until the next message in it. The run continues. */
export const closeConversation = defineStep({
  type: 'close_conversation',
  needsContact: true,
  schema: z.strictObject({}),
  output: () => ({}),
  execute(_config, context) {
    requireConversation(context)
    const effect: WorkflowEffect = { type: 'close_conversation' }
    return { kind: 'next', output: null, effects: [effect], facts: { conversation: { status: 'closed' } } }
  },
})
