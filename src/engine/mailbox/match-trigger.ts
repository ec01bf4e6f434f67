import type { CompiledDefinition } from '../model/compiled.ts'
import { evaluateCondition } from '../language/conditions.ts'
import type { Match, Trigger } from '../language/definition/triggers.ts'
import { normalizeText } from '../language/normalize-text.ts'
import { matchesPattern } from '../language/patterns.ts'
import type { JsonObject, MessageFacts } from '../model/run.ts'
import type { Facts } from '../model/step.ts'
import { runTimezone } from '../decide/step-context.ts'

/** Something that may start runs. `isFirst`: the message is the first since its conversation was opened. */
export type TriggerEvent =
  | { type: 'message_received'; message: MessageFacts; channelId: string; isFirst?: boolean }
  | { type: 'conversation_opened'; message?: MessageFacts | null }
  | { type: 'conversation_closed' }
  | { type: 'contact_created' }
  | { type: 'contact_updated'; fields: string[] }
  | { type: 'tag_added' | 'tag_removed'; tag: string }
  | { type: 'group_joined' | 'group_left'; groupId: string }
  | { type: 'api' | 'manual'; input?: unknown }
  | { type: 'event'; event: string; data: unknown }

export type TriggerMatch = { trigger: Trigger } | { outcome: 'no_match' | 'condition_not_met' }

/**
 * The trigger by which an event starts the workflow: of several the one with the highest priority, then the first. A
 * workflow starts once, however many of its triggers match. Undefined if it has none for events of this kind.
 */
export function matchTrigger(
  compiled: CompiledDefinition,
  event: TriggerEvent,
  facts: Facts,
  now: Date,
): TriggerMatch | undefined {
  const candidates = compiled.triggers.filter(({ type }) => type === event.type)
  if (candidates.length === 0) return undefined
  const suiting = candidates.filter((trigger) => suits(trigger, event))
  if (suiting.length === 0) return { outcome: 'no_match' }
  const [first, ...others] = suiting.filter((trigger) => isAllowed(trigger, { compiled, event, facts, now }))
  if (!first) return { outcome: 'condition_not_met' }
  return { trigger: others.reduce((best, one) => (triggerPriority(best) >= triggerPriority(one) ? best : one), first) }
}

/** Above zero it is a command, which starts its workflow even while another run waits for the reply. */
export function triggerPriority(trigger: Trigger): number {
  return trigger.type === 'message_received' ? trigger.priority : 0
}

function suits(trigger: Trigger, event: TriggerEvent): boolean {
  if (trigger.type === 'message_received') {
    return (
      event.type === 'message_received' &&
      (trigger.channelId === undefined || trigger.channelId === event.channelId) &&
      (!trigger.first || event.isFirst === true) &&
      matchesText(trigger.match, event.message.body ?? '')
    )
  }
  // A schedule and a webhook belong to one workflow and start it themselves: no event is theirs.
  if (trigger.type !== event.type) return false
  if ('tag' in trigger) return 'tag' in event && normalizeText(trigger.tag) === normalizeText(event.tag)
  if ('groupId' in trigger) return 'groupId' in event && trigger.groupId === event.groupId
  if (trigger.type === 'contact_updated') {
    const { fields } = trigger
    return 'fields' in event && (!fields || event.fields.some((field) => isAmong(field, fields)))
  }
  if (trigger.type === 'event') return event.type === 'event' && trigger.event === event.event
  return true
}

function isAmong(field: string, wanted: string[]): boolean {
  return wanted.some((name) => name === field || (name === 'fields' && field.startsWith('fields.')))
}

/** Case, outer blanks and the width of blanks do not matter, except to a regular expression. */
export function matchesText({ mode, values }: Match, body: string): boolean {
  if (mode === 'any') return true
  if (mode === 'regex') return values.some((value) => matchesPattern(value, body))
  const text = normalizeText(body)
  return values.map(normalizeText).some((value) => {
    if (mode === 'exact') return text === value
    return mode === 'contains' ? text.includes(value) : text.startsWith(value)
  })
}

type Circumstances = { compiled: CompiledDefinition; event: TriggerEvent; facts: Facts; now: Date }

function isAllowed(trigger: Trigger, { compiled, event, facts, now }: Circumstances): boolean {
  if (!trigger.if) return true
  const data: JsonObject = { ...event }
  const roots = { ...facts, trigger: data, message: data['message'] ?? null, input: data['input'] ?? null }
  const timezone = runTimezone(compiled.settings.timezone, facts)
  return evaluateCondition(trigger.if, { roots: { ...roots, now: now.toISOString() }, timezone })
}
