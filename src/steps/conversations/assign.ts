import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { Assignee, composeAssignment } from './assignee.ts'
import { requireConversation } from '../contacts/contact-facts.ts'

/** Assigns the conversation to a member, or to nobody. */
export const assign = defineStep({
  type: 'assign',
  needsContact: true,
  schema: z.strictObject({ to: Assignee }),
  output: () => ({}),
  execute({ to }, context) {
    requireConversation(context)
    const effect = composeAssignment(to, context)
    const conversation = 'userId' in effect.to ? { assigneeId: effect.to.userId } : {}
    return {
      kind: 'next',
      input: { to: effect.to },
      output: null,
      effects: [effect],
      facts: { conversation },
    }
  },
})
