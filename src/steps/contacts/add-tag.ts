import { z } from 'zod'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import { defineStep } from '../../engine/model/step.ts'
import { requireContact, fillTags, Tags, listTags } from './contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Adds tags to the contact; tags that it already has stay. */
export const addTag = defineStep({
  type: 'add_tag',
  needsContact: true,
  schema: z.strictObject({ tags: Tags }),
  output: () => ({ tags: null }),
  execute(config, context) {
    const present = listTags(requireContact(context))
    const requested = fillTags(config.tags, context)
    const known = new Set(present.map(normalizeText))
    const added = requested.filter((name) => !known.has(normalizeText(name)))
    const effect: WorkflowEffect = { type: 'add_tag', tags: added }
    return {
      kind: 'next',
      input: { tags: requested },
      output: { tags: added },
      effects: added.length > 0 ? [effect] : [],
      facts: { contact: { tags: [...present, ...added] } },
    }
  },
})
