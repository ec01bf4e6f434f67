import { explainIssue, problemAt, toProblems, type Location, type Problem } from '../language/definition/problems.ts'
import { isTriggerType, TRIGGERS, type Trigger } from '../language/definition/triggers.ts'

export type ParsedTrigger = { place: Location; value: Trigger | null; problems: Problem[] }

export function compileTrigger(given: unknown, index: number): ParsedTrigger {
  const place: Location = { stepId: null, path: `triggers.${index}`, name: `Trigger ${index + 1}` }
  if (typeof given !== 'object' || given === null) {
    return { place, value: null, problems: [problemAt(place, '', 'invalid', 'must be an object')] }
  }
  const type: unknown = Reflect.get(given, 'type')
  if (!isTriggerType(type)) {
    const what = `${JSON.stringify(type) ?? 'nothing'} is not a kind of trigger: use one of ${Object.keys(TRIGGERS).join(', ')}`
    return { place, value: null, problems: [problemAt(place, 'type', 'unknown_trigger_type', what)] }
  }
  const read = TRIGGERS[type].safeParse(given, { error: explainIssue })
  if (!read.success) return { place, value: null, problems: toProblems(read.error, place) }
  return { place, value: read.data, problems: [] }
}

/** A workflow has one address, so that two triggers could not tell whose call it is. */
export function repeatedWebhooks(triggers: ParsedTrigger[]): Problem[] {
  return triggers
    .filter(({ value }) => value?.type === 'webhook')
    .slice(1)
    .map(({ place }) => problemAt(place, 'type', 'duplicate_webhook', 'is a second webhook: a workflow has one'))
}
