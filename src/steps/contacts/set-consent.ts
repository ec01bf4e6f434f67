import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { requireContact } from './contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Records the contact's consent to marketing. */
export const setConsent = defineStep({
  type: 'set_consent',
  schema: z.strictObject({ marketing: z.enum(['opted_in', 'opted_out']) }),
  literal: ['marketing'],
  execute({ marketing }, context) {
    const { consent } = requireContact(context)
    const effect: WorkflowEffect = { type: 'set_consent', marketing }
    const facts = { contact: { consent: { ...(typeof consent === 'object' ? consent : {}), marketing } } }
    return { kind: 'next', input: { marketing }, output: null, effects: [effect], facts }
  },
})
