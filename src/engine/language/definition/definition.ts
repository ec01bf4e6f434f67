import { z } from 'zod'
import { Settings } from './settings.ts'
import { Variables } from './variables.ts'

export const STEPS_MAX = 500
const TRIGGERS_MAX = 10

/** The outer form of a definition. Triggers and steps are parsed one by one, so that one mistake hides no other. */
export const Definition = z.strictObject({
  version: z.literal(1),
  triggers: z.array(z.unknown()).max(TRIGGERS_MAX).default([]),
  settings: Settings.prefault({}),
  variables: Variables.default({}),
  steps: z.array(z.unknown()).max(STEPS_MAX),
  /** Data of the editor, such as positions. Neither behaviour nor hash depend on it. */
  ui: z.record(z.string(), z.unknown()).optional(),
})
export type Definition = z.output<typeof Definition>
