import { z } from 'zod'
import { target } from '../../engine/language/definition/names.ts'
import { defineStep } from '../../engine/model/step.ts'

/** Continues with another step. */
export const goto = defineStep({
  type: 'goto',
  schema: z.strictObject({ to: target }),
  literal: ['to'],
  output: () => ({}),
  fallthrough: () => 'never',
  targets: ({ to }) => [{ to, path: 'to' }],
  execute: ({ to }) => ({ kind: 'next', output: null, to }),
})
