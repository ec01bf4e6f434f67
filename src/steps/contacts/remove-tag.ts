import { z } from 'zod'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import { defineStep } from '../../engine/model/step.ts'
import { requireContact, fillTags, Tags, listTags } from './contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Tags that the contact does not have are not missed. */
export const removeTag = defineStep({
  type: 'remove_tag',
  schema: z.strictObject({ tags: Tags }),
  execute(config, turn) {
    const present = listTags(requireContact(turn))
    const unwanted = fillTags(config.tags, turn)
    const named = new Set(unwanted.map(normalizeText))
    const removed = present.filter((name) => named.has(normalizeText(name)))
    const effect: WorkflowEffect = { type: 'remove_tag', tags: removed }
    return {
      kind: 'next',
      input: { tags: unwanted },
      output: { tags: removed },
      effects: removed.length > 0 ? [effect] : [],
      facts: { contact: { tags: present.filter((name) => !named.has(normalizeText(name))) } },
    }
  },
})
