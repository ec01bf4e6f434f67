import { z } from 'zod'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import { defineStep } from '../../engine/model/step.ts'
import { requireContact, fillTags, Tags, listTags } from './contact-facts.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Removes tags from the contact; tags that it does not have are ignored. */
export const removeTag = defineStep({
  type: 'remove_tag',
  needsContact: true,
  schema: z.strictObject({ tags: Tags }),
  output: () => ({ tags: null }),
  execute(config, context) {
    const present = listTags(requireContact(context))
    const requested = fillTags(config.tags, context)
    const removedNames = new Set(requested.map(normalizeText))
    const removed = present.filter((name) => removedNames.has(normalizeText(name)))
    const effect: WorkflowEffect = { type: 'remove_tag', tags: removed }
    return {
      kind: 'next',
      input: { tags: requested },
      output: { tags: removed },
      effects: removed.length > 0 ? [effect] : [],
      facts: { contact: { tags: present.filter((name) => !removedNames.has(normalizeText(name))) } },
    }
  },
})
