import { z } from 'zod'
import { Condition } from '../conditions/index.ts'
import { defineTrigger } from '../engine/model/trigger.ts'
import type { EventByType } from './events.ts'

export const contactUpdated = defineTrigger({
  type: 'contact_updated',
  schema: z.strictObject({
    type: z.literal('contact_updated'),
    /** Such as `email` or `fields.plan`; `fields` stands for all custom fields. Without it every change matches. */
    fields: z
      .array(z.string().trim().min(1, 'must not be empty').max(200))
      .min(1, 'must have at least 1 entry')
      .max(50)
      .optional(),
    if: Condition.optional(),
  }),
  matches: ({ fields }, event: EventByType<'contact_updated'>) =>
    !fields || event.fields.some((changed) => fields.some((name) => covers(name, changed))),
  recorded: ['fields'],
})

function covers(name: string, changed: string): boolean {
  return name === changed || (name === 'fields' && changed.startsWith('fields.'))
}
