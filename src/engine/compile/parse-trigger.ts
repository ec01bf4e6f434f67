import { explainIssue, problemAt, toProblems, type Location, type Problem } from '../language/definition/problems.ts'
import type { CompiledTrigger, TriggerRegistry } from '../model/trigger.ts'
import { getField } from '../../platform/fields.ts'

export type ParsedTrigger = { location: Location; value: CompiledTrigger | null; problems: Problem[] }

export function parseTrigger(source: unknown, index: number, registry: TriggerRegistry): ParsedTrigger {
  const location: Location = { stepId: null, path: `triggers.${index}`, name: `Trigger ${index + 1}` }
  if (typeof source !== 'object' || source === null) {
    return { location, value: null, problems: [problemAt(location, '', 'invalid', 'must be an object')] }
  }
  const name = getField(source, 'type')
  const type = typeof name === 'string' ? registry.get(name) : undefined
  if (!type) {
    const types = [...registry.keys()].join(', ')
    const message = `${JSON.stringify(name) ?? 'nothing'} is not a trigger type: use one of ${types}`
    return { location, value: null, problems: [problemAt(location, 'type', 'unknown_trigger_type', message)] }
  }
  const parsed = type.schema.safeParse(source, { error: explainIssue })
  if (!parsed.success) return { location, value: null, problems: toProblems(parsed.error, location) }
  return { location, value: { ...parsed.data, type: type.type }, problems: [] }
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
