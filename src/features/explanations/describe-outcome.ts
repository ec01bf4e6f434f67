import { normalizeText } from '../../engine/language/normalize-text.ts'
import { CASCADES_MAX } from '../../engine/mailbox/cascade-limiter.ts'
import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { Evaluation, EvaluatedEvent } from '../../engine/model/evaluation.ts'
import type { CompiledTrigger } from '../../engine/model/trigger.ts'
import { contactUpdated } from '../../triggers/contact-updated.ts'
import { customEvent } from '../../triggers/custom-event.ts'
import { groupJoined, groupLeft } from '../../triggers/groups.ts'
import { type Match, matchesText, messageReceived } from '../../triggers/message-received.ts'
import { tagAdded, tagRemoved } from '../../triggers/tags.ts'
import type { Comparison, Condition } from '../../engine/language/conditions.ts'

const CONDITION_LENGTH_MAX = 300

/** An evaluated event with what is still stored of it: its message may have been deleted. */
export type OutcomeContext = {
  event: EvaluatedEvent['event']
  message: { body: string | null; channelId: string } | undefined
  /** The version that was published when the event was evaluated. */
  compiled: CompiledDefinition | undefined
}

/** Explains in one sentence why the event did not start the workflow, and what to change. */
export function describeOutcome({ outcome, detail }: Evaluation, context: OutcomeContext): string {
  switch (outcome) {
    case 'no_match':
      return describeMismatches(context)
    case 'condition_not_met':
      return describeConditions(context)
    case 'already_running':
      return 'The workflow was already running, and its re-entry policy is "ignore". Wait for that run or cancel it, or set settings.reentry to "queue", "restart" or "parallel"'
    case 'automation_paused':
      return `Automation was paused by a person${detail ? ` until ${detail}` : ''}. Resume it in the conversation to let workflows start`
    case 'contact_blocked':
      return 'The contact was blocked. Unblock it to let workflows start'
    case 'consent_keyword':
      return `The message was the consent keyword "${detail ?? ''}", which takes precedence over workflows. To let workflows react to it, remove the word with PUT /api/workspace/consent-keywords`
    case 'consumed_as_reply':
      return 'A run that was waiting for a reply consumed the message. Give the trigger a priority above 0 to evaluate it before waiting runs'
    case 'preempted_by_priority':
      return 'A trigger with a higher priority consumed the message. Give this trigger a priority above 0 to start as well'
    case 'workflow_unusable':
      return `The published version could not be executed${detail ? `: ${detail}` : ''}. Publish the workflow again`
    case 'max_depth_exceeded':
      return 'Workflows triggered each other too many times in a row. Remove the loop'
    case 'cascade_rate_limited':
      return `Workflows triggered each other, and had started this one ${CASCADES_MAX} times within a minute. Remove the loop`
  }
}

function triggersFor({ event, compiled }: OutcomeContext): CompiledTrigger[] {
  return compiled?.triggers.filter(({ type }) => type === event.type) ?? []
}

function describeMismatches(context: OutcomeContext): string {
  const reasons = triggersFor(context).map((trigger) => describeMismatch(trigger, context))
  return reasons.length > 0 ? [...new Set(reasons)].join('. ') : 'No trigger of the workflow matched'
}

function describeMismatch(trigger: CompiledTrigger, { event, message }: OutcomeContext): string {
  if (messageReceived.is(trigger)) {
    if (!message) return 'The message did not match, and has been deleted since'
    if (trigger.channelId !== undefined && trigger.channelId !== message.channelId)
      return `The message was received on channel ${message.channelId}, but the trigger requires channel ${trigger.channelId}`
    if (!matchesText(trigger.match, message.body ?? '')) return describeText(trigger.match, message.body)
    return 'The message was not the first since the conversation was opened, but the trigger requires the first message'
  }
  if (tagAdded.is(trigger))
    return `The tag "${event.name}" was added, but the trigger requires the tag "${trigger.tag}"`
  if (contactUpdated.is(trigger))
    return `The contact was updated, but none of the fields that the trigger requires changed: ${(trigger.fields ?? []).join(', ')}`
  if (tagRemoved.is(trigger))
    return `The tag "${event.name}" was removed, but the trigger requires the tag "${trigger.tag}"`
  if (groupJoined.is(trigger) || groupLeft.is(trigger))
    return `The event was for a different group, but the trigger requires group ${trigger.groupId}`
  const expected = customEvent.is(trigger) ? trigger.event : trigger.type
  return `The event was "${event.name ?? event.type}", but the trigger requires "${expected}"`
}

const VERBS: Record<Match['mode'], string> = {
  any: 'is not',
  exact: 'is none of',
  contains: 'contains none of',
  starts_with: 'starts with none of',
  regex: 'matches none of',
}

const VALUES_MAX = 20

function describeText({ mode, values }: Match, body: string | null): string {
  const listed = values.slice(0, VALUES_MAX).join(', ')
  const list = values.length > VALUES_MAX ? `${listed} and ${values.length - VALUES_MAX} more` : listed
  if (body === null) return `The message has no text, but the trigger requires one of: ${list}`
  const text = body.length > 100 ? `${body.slice(0, 100)}…` : body
  return `The message "${text}" ${VERBS[mode]}: ${list}`
}

/** Returns true if the trigger matches the event, as far as the event is still stored. */
function mayMatch(trigger: CompiledTrigger, { event, message }: OutcomeContext): boolean {
  if (messageReceived.is(trigger)) {
    const { channelId, match } = trigger
    if (!message) return true
    return (channelId === undefined || channelId === message.channelId) && matchesText(match, message.body ?? '')
  }
  if (event.name === null) return true
  if (tagAdded.is(trigger) || tagRemoved.is(trigger)) return normalizeText(trigger.tag) === normalizeText(event.name)
  return !customEvent.is(trigger) || trigger.event === event.name
}

function describeConditions(context: OutcomeContext): string {
  const matching = triggersFor(context).filter((trigger) => mayMatch(trigger, context))
  const conditions = matching.flatMap((trigger) => (trigger.if ? [describeCondition(trigger.if)] : []))
  if (conditions.length === 0) return 'The condition of the trigger was not met'
  return `The trigger matched, but its condition was not met: ${[...new Set(conditions)].join('; ')}`
}

/** Formats a condition as a text such as `contact.language eq "es" and not (contact.tags has_tag "vip")`. */
function describeCondition(condition: Condition): string {
  const text = format(condition)
  return text.length > CONDITION_LENGTH_MAX ? `${text.slice(0, CONDITION_LENGTH_MAX)}…` : text
}

function format(condition: Condition): string {
  if ('all' in condition) return condition.all.map(formatNested).join(' and ')
  if ('any' in condition) return condition.any.map(formatNested).join(' or ')
  if ('not' in condition) return `not (${format(condition.not)})`
  return formatComparison(condition)
}

function formatNested(condition: Condition): string {
  return 'all' in condition || 'any' in condition ? `(${format(condition)})` : format(condition)
}

function formatComparison({ left, op, right }: Comparison): string {
  const subject = typeof left === 'string' ? left.replaceAll(/\{\{\s*(.*?)\s*\}\}/g, '$1') : String(left)
  return right === undefined ? `${subject} ${op}` : `${subject} ${op} ${JSON.stringify(right)}`
}
