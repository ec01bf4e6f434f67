import { CASCADES_MAX } from '../../engine/mailbox/cascade-limiter.ts'
import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { CompiledTrigger } from '../../engine/model/trigger.ts'
import { normalizeText } from '../../engine/language/normalize-text.ts'
import { contactUpdated } from '../../triggers/contact-updated.ts'
import { customEvent } from '../../triggers/custom-event.ts'
import { groupJoined, groupLeft } from '../../triggers/groups.ts'
import { type Match, matchesText, messageReceived } from '../../triggers/message-received.ts'
import { tagAdded, tagRemoved } from '../../triggers/tags.ts'
import { describeCondition } from './describe-condition.ts'
import type { Evaluation, EvaluatedEvent } from '../../engine/model/evaluation.ts'

/** What is still known of an event: its message may be gone. */
export type OutcomeDescription = {
  event: EvaluatedEvent['event']
  message: { body: string | null; channelId: string } | undefined
  /** The version that was published then. */
  compiled: CompiledDefinition | undefined
}

/** Why the workflow was not started, in a sentence that says what would have to be different. */
export function describeOutcome({ outcome, detail }: Evaluation, explained: OutcomeDescription): string {
  switch (outcome) {
    case 'no_match':
      return describeMismatch(explained)
    case 'condition_not_met':
      return describeUnmet(explained)
    case 'already_running':
      return 'The workflow was already running, and its re-entry policy is "ignore". Wait for that run or cancel it, or set settings.reentry to "queue", "restart" or "parallel"'
    case 'automation_paused':
      return `Automation was paused by a person${detail ? ` until ${detail}` : ''}. Resume it in the conversation to let workflows start`
    case 'consumed_as_reply':
      return 'A run that waited for a reply took the message. Give the trigger a priority above 0 to go before waiting runs'
    case 'preempted_by_priority':
      return 'A trigger with a higher priority took the message. Give this trigger a priority above 0 to start beside it'
    case 'max_depth_exceeded':
      return 'The event came from a chain of workflows that start each other, and the chain was too long. Break the circle'
    case 'cascade_rate_limited':
      return `The event came from workflows that start each other, and they had started this one ${CASCADES_MAX} times within a minute. Break the circle`
  }
}

function triggersFor({ event, compiled }: OutcomeDescription): CompiledTrigger[] {
  return compiled?.triggers.filter(({ type }) => type === event.type) ?? []
}

function describeMismatch(explained: OutcomeDescription): string {
  const reasons = triggersFor(explained).map((trigger) => describeMiss(trigger, explained))
  return reasons.length > 0 ? [...new Set(reasons)].join('. ') : 'No trigger of the workflow matched'
}

function describeMiss(trigger: CompiledTrigger, { event, message }: OutcomeDescription): string {
  if (messageReceived.is(trigger)) {
    if (!message) return 'The message did not match, and is no longer there'
    if (trigger.channelId !== undefined && trigger.channelId !== message.channelId)
      return `The message came in on channel ${message.channelId}, and the trigger listens to ${trigger.channelId}`
    if (!matchesText(trigger.match, message.body ?? '')) return describeText(trigger.match, message.body)
    return 'The message was not the first since the conversation was opened, and the trigger wants the first'
  }
  if (tagAdded.is(trigger)) return `The tag "${event.name}" was added, and the trigger waits for "${trigger.tag}"`
  if (contactUpdated.is(trigger))
    return `Something else of the contact was changed than ${(trigger.fields ?? []).join(', ')}`
  if (tagRemoved.is(trigger)) return `The tag "${event.name}" was removed, and the trigger waits for "${trigger.tag}"`
  if (groupJoined.is(trigger) || groupLeft.is(trigger)) return `It was another group than ${trigger.groupId}`
  const wanted = customEvent.is(trigger) ? trigger.event : trigger.type
  return `The event was "${event.name ?? event.type}", and the trigger waits for "${wanted}"`
}

const VERBS: Record<Match['mode'], string> = {
  any: 'is not',
  exact: 'is none of',
  contains: 'contains none of',
  starts_with: 'starts with none of',
  regex: 'matches none of',
}

const VALUES_SHOWN = 20

function describeText({ mode, values }: Match, body: string | null): string {
  const shown = values.slice(0, VALUES_SHOWN).join(', ')
  const list = values.length > VALUES_SHOWN ? `${shown} and ${values.length - VALUES_SHOWN} more` : shown
  if (body === null) return `The message has no text, and the trigger wants one of: ${list}`
  const quoted = body.length > 100 ? `${body.slice(0, 100)}…` : body
  return `The message "${quoted}" ${VERBS[mode]}: ${list}`
}

/** Whether the trigger matched, as far as is still known. */
function maySuit(trigger: CompiledTrigger, { event, message }: OutcomeDescription): boolean {
  if (messageReceived.is(trigger)) {
    const { channelId, match } = trigger
    if (!message) return true
    return (channelId === undefined || channelId === message.channelId) && matchesText(match, message.body ?? '')
  }
  if (event.name === null) return true
  if (tagAdded.is(trigger) || tagRemoved.is(trigger)) return normalizeText(trigger.tag) === normalizeText(event.name)
  return !customEvent.is(trigger) || trigger.event === event.name
}

function describeUnmet(explained: OutcomeDescription): string {
  const matching = triggersFor(explained).filter((trigger) => maySuit(trigger, explained))
  const conditions = matching.flatMap((trigger) => (trigger.if ? [describeCondition(trigger.if)] : []))
  if (conditions.length === 0) return 'The condition of the trigger was not met'
  return `The trigger matched, but its condition was not met: ${[...new Set(conditions)].join('; ')}`
}
