import { z } from 'zod'
import { defineStep } from '../../engine/model/step.ts'
import { definedFields } from '../../platform/fields.ts'
import type { WorkflowEffect } from '../effects.ts'
import { requireContact } from './contact-facts.ts'

const state = z.enum(['opted_in', 'opted_out']).optional()

/** Records the contact's consent to marketing, to service messages, or to both. */
export const setConsent = defineStep({
  type: 'set_consent',
  needsContact: true,
  schema: z
    .strictObject({ marketing: state, service: state })
    .refine(({ marketing, service }) => marketing !== undefined || service !== undefined, {
      message: 'is required, unless service is set',
      path: ['marketing'],
    })
    .meta({ anyOf: [{ required: ['marketing'] }, { required: ['service'] }] }),
  literal: ['marketing', 'service'],
  output: () => ({}),
  execute({ marketing, service }, context) {
    const { consent } = requireContact(context)
    const choices = definedFields({ marketing, service })
    const effect: WorkflowEffect = { type: 'set_consent', ...choices }
    const facts = { contact: { consent: { ...(typeof consent === 'object' ? consent : {}), ...choices } } }
    return { kind: 'next', input: choices, output: null, effects: [effect], facts }
  },
})
