import { z } from 'zod'
import { Condition } from '../conditions/index.ts'
import { normalizeText } from '../engine/language/normalize-text.ts'
import { defineTrigger } from '../engine/model/trigger.ts'
import type { EventByType } from './events.ts'

export const tagAdded = tagTrigger('tag_added')
export const tagRemoved = tagTrigger('tag_removed')

function tagTrigger<Type extends 'tag_added' | 'tag_removed'>(type: Type) {
  const name = z.string().trim().min(1, 'must not be empty').max(50)
  return defineTrigger({
    type,
    schema: z.strictObject({ type: z.literal(type), tag: name, if: Condition.optional() }),
    matches: ({ tag }, event: EventByType<'tag_added' | 'tag_removed'>) =>
      normalizeText(tag) === normalizeText(event.tag),
    recorded: ['tag'],
    eventName: ({ tag }) => tag,
  })
}
