import { z } from 'zod'
import { Condition } from '../conditions/index.ts'
import { defineTrigger } from '../engine/model/trigger.ts'
import type { EventByType } from './events.ts'

export const groupJoined = groupTrigger('group_joined')
export const groupLeft = groupTrigger('group_left')

function groupTrigger<Type extends 'group_joined' | 'group_left'>(type: Type) {
  const id = z.uuid('must be the id of a group').toLowerCase()
  return defineTrigger({
    type,
    schema: z.strictObject({ type: z.literal(type), groupId: id, if: Condition.optional() }),
    matches: ({ groupId }, event: EventByType<'group_joined' | 'group_left'>) => groupId === event.groupId,
    recorded: ['groupId'],
  })
}
