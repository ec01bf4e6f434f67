import { z } from 'zod'
import { eventName } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Tells the workspace's workflows that something happened: triggers and waits of this event take it up. */
export const emit = defineStep({
  type: 'emit',
  schema: z.strictObject({
    event: eventName,
    data: z.record(z.string(), z.unknown()).default({}),
  }),
  literal: ['event'],
  execute({ event, data }, turn) {
    const filled = turn.resolve(data)
    const effect: WorkflowEffect = { type: 'emit', event, data: filled }
    return { kind: 'next', input: { event, data: filled }, output: null, effects: [effect] }
  },
})
