import { conditions } from './conditions/index.ts'
import { createRegistry, type Registry } from './engine/model/registry.ts'
import { effectTypes } from './steps/effects.ts'
import { FACTS } from './triggers/facts.ts'
import { stepTypes, stepTypesWithLoopback } from './steps/index.ts'
import { eventFields } from './triggers/events.ts'
import { triggerTypes } from './triggers/index.ts'

/** The language of workflows: its triggers, steps, effects and condition operators. */
export const workflowLanguage = createRegistry({
  conditions,
  triggers: triggerTypes,
  steps: stepTypes,
  effects: effectTypes,
  roots: FACTS,
  events: eventFields,
})

/** Checks definitions where calls to this machine are allowed. */
export const workflowLanguageWithLoopback: Registry = { ...workflowLanguage, steps: stepTypesWithLoopback }
