import { runTimezone } from '../decide/step-context.ts'
import { evaluateCondition } from '../language/conditions.ts'
import { isBudgetExceeded } from '../language/work-budget.ts'
import type { CompiledDefinition } from '../model/compiled.ts'
import type { Registry } from '../model/registry.ts'
import type { Facts } from '../model/step.ts'
import type { CompiledTrigger, TriggerEvent } from '../model/trigger.ts'

export type TriggerMatch =
  { trigger: CompiledTrigger; priority: number } | { outcome: 'no_match' | 'condition_not_met' }

type TriggerInput = {
  compiled: CompiledDefinition
  event: TriggerEvent
  facts: Facts
  now: Date
  registry: Pick<Registry, 'triggers' | 'operators'>
}

/**
 * Finds the trigger by which an event starts the workflow: of several the one with the highest priority, then the first.
 * A workflow starts once, even if several of its triggers match. Undefined if it has none for events of this type.
 */
export function matchTrigger(input: TriggerInput): TriggerMatch | undefined {
  const { compiled, event, registry } = input
  const type = registry.triggers.get(event.type)
  const candidates = compiled.triggers.filter((trigger) => trigger.type === event.type)
  if (!type || candidates.length === 0) return undefined
  const matching = candidates.filter((trigger) => matchesWithinBudget(() => type.matches(trigger, event)))
  if (matching.length === 0) return { outcome: 'no_match' }
  const allowed = matching
    .filter((trigger) => matchesWithinBudget(() => isConditionMet(trigger, input)))
    .map((trigger) => ({ trigger, priority: type.priority(trigger) }))
  const [first, ...others] = allowed
  if (!first) return { outcome: 'condition_not_met' }
  return others.reduce((best, other) => (best.priority >= other.priority ? best : other), first)
}

/** Tests a trigger; one that needs too much work does not match. */
function matchesWithinBudget(test: () => boolean): boolean {
  try {
    return test()
  } catch (error) {
    if (isBudgetExceeded(error)) return false
    throw error
  }
}

function isConditionMet(trigger: CompiledTrigger, { compiled, event, facts, now, registry }: TriggerInput): boolean {
  if (!trigger.if) return true
  const { message = null, input = null } = event
  const roots = { ...facts, trigger: event, message, input, now: now.toISOString() }
  const timezone = runTimezone(compiled.settings.timezone, facts)
  return evaluateCondition(trigger.if, { roots, timezone }, registry.operators)
}
