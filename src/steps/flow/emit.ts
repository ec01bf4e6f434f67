import { z } from 'zod'
import { eventName } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'
import type { WorkflowEffect } from '../effects.ts'

/** Emits a custom event, for the triggers and waits of the workspace's workflows. */
export const emit = defineStep({
  type: 'emit',
  needsContact: true,
  schema: z.strictObject({
    event: eventName,
    data: z.record(z.string(), z.unknown()).default({}),
  }),
  literal: ['event'],
  output: () => ({}),
  execute({ event, data }, context) {
    const resolved = context.resolve(data)
    const effect: WorkflowEffect = { type: 'emit', event, data: resolved }
    return { kind: 'next', input: { event, data: resolved }, output: null, effects: [effect] }
  },
})
