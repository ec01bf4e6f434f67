import { z } from 'zod'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import { defineStep } from '../../engine/model/step.ts'
import { requireContact, fillTags, Tags, listTags } from './contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Tags that the contact has already are left as they are. */
export const addTag = defineStep({
  type: 'add_tag',
  schema: z.strictObject({ tags: Tags }),
  execute(config, turn) {
    const present = listTags(requireContact(turn))
    const wanted = fillTags(config.tags, turn)
    const known = new Set(present.map(normalizeText))
    const added = wanted.filter((name) => !known.has(normalizeText(name)))
    const effect: WorkflowEffect = { type: 'add_tag', tags: added }
    return {
      kind: 'next',
      input: { tags: wanted },
      output: { tags: added },
      effects: added.length > 0 ? [effect] : [],
      facts: { contact: { tags: [...present, ...added] } },
    }
  },
})
