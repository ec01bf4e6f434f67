import { z } from 'zod'
import { Condition } from '../conditions/index.ts'
import { eventName } from '../engine/language/definition/names.ts'
import { defineTrigger } from '../engine/model/trigger.ts'
import type { EventByType } from './events.ts'

export const customEvent = defineTrigger({
  type: 'event',
  schema: z.strictObject({ type: z.literal('event'), event: eventName, if: Condition.optional() }),
  matches: (trigger, { event }: EventByType<'event'>) => trigger.event === event,
  recorded: ['event', 'data'],
  eventName: ({ event }) => event,
  toSignal: ({ event, data }) => ({ event, data }),
})
