import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { requireConversation } from '../contacts/contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'

/** The conversation is closed until somebody writes in it again. The run goes on. */
export const closeConversation = defineStep({
  type: 'close_conversation',
  schema: z.strictObject({}),
  execute(_config, turn) {
    requireConversation(turn)
    const effect: WorkflowEffect = { type: 'close_conversation' }
    return { kind: 'next', output: null, effects: [effect], facts: { conversation: { status: 'closed' } } }
  },
})
