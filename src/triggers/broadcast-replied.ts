import { z } from 'zod'
import { Condition } from '../conditions/index.ts'
import { duration } from '../engine/language/definition/duration.ts'
import { defineTrigger } from '../engine/model/trigger.ts'
import type { EventByType } from './events.ts'
import { Match, matchesText } from './message-received.ts'

const schema = z.strictObject({
  type: z.literal('broadcast_replied'),
  broadcastId: z.uuid('must be the id of a broadcast').toLowerCase().optional(),
  within: duration.optional(),
  match: Match.default({ mode: 'any', values: [] }),
  if: Condition.optional(),
})

/** The first message of a recipient after a broadcast, within 72 hours. It is offered to `message_received`, too. */
export const broadcastReplied = defineTrigger({
  type: 'broadcast_replied',
  schema,
  matches: ({ broadcastId, within, match }, event: EventByType<'broadcast_replied'>) =>
    (broadcastId === undefined || broadcastId === event.broadcastId) &&
    (within === undefined || event.afterMs <= within) &&
    matchesText(match, event.message?.body ?? ''),
  recorded: ['broadcastId', 'recipientId'],
})
