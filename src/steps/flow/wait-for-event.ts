import { z } from 'zod'
import { Condition } from '../../conditions/index.ts'
import { eventName } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'

/** Waits for an event of the contact or a signal to the run. `match` reads it as `trigger`: `{{trigger.data.orderId}}`. */
export const waitForEvent = defineStep({
  type: 'wait_for_event',
  awaits: 'event',
  schema: z.strictObject({ event: eventName, match: Condition.optional() }),
  literal: ['event'],
  reads: { match: { trigger: { type: null, event: null, data: null } } },
  output: () => ({ event: null, data: null }),
  waits: () => true,
  execute: ({ event }) => ({ kind: 'suspend', for: 'event', until: null, input: { event } }),
  resume({ event, match }, context, wakeup) {
    if (wakeup.type !== 'event' || wakeup.event !== event) return { kind: 'ignore' }
    const { data } = wakeup
    if (match && !context.isMet(match, { trigger: { type: 'event', event, data } })) return { kind: 'ignore' }
    return { kind: 'next', output: { event, data } }
  },
})
