import {
  describeUnknownType,
  PARSING,
  problemAt,
  toProblems,
  type Location,
  type Problem,
} from '../language/definition/problems.ts'
import type { CompiledTrigger, TriggerRegistry, TriggerType } from '../model/trigger.ts'
import { getField } from '../../platform/fields.ts'

/** A trigger with its problems. `value` is null if its schema rejects it, and `type` if its type is unknown. */
export type ParsedTrigger = {
  location: Location
  type: TriggerType | null
  value: CompiledTrigger | null
  problems: Problem[]
}

export function parseTrigger(source: unknown, index: number, registry: TriggerRegistry): ParsedTrigger {
  const location: Location = { stepId: null, path: `triggers.${index}`, name: `Trigger ${index + 1}` }
  if (typeof source !== 'object' || source === null) {
    return { location, type: null, value: null, problems: [problemAt(location, '', 'invalid', 'must be an object')] }
  }
  const name = getField(source, 'type')
  const type = typeof name === 'string' ? registry.get(name) : undefined
  if (!type) {
    const part = { location, code: 'unknown_trigger_type' }
    const problems = describeUnknownType(part, 'trigger type', { name, names: [...registry.keys()] })
    return { location, type: null, value: null, problems }
  }
  const parsed = type.schema.safeParse(source, PARSING)
  if (!parsed.success) {
    return { location, type, value: null, problems: toProblems(parsed.error, location, { name: type.type }) }
  }
  return { location, type, value: { ...parsed.data, type: type.type }, problems: [] }
}

/** Reports second triggers of types of which a definition may have only one. */
export function findDuplicateTriggers(triggers: ParsedTrigger[], registry: TriggerRegistry): Problem[] {
  const seen = new Set<string>()
  return triggers.flatMap(({ location, value }) => {
    const type = value && registry.get(value.type)
    if (!type?.duplicate) return []
    const isRepeated = seen.has(type.type)
    seen.add(type.type)
    return isRepeated ? [problemAt(location, 'type', type.duplicate.code, type.duplicate.message)] : []
  })
}
