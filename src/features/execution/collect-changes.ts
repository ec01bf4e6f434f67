import type { OutboundContent } from '../../message-content/content.ts'
import type { RunEffects } from '../../engine/mailbox/active-runs.ts'
import type { StoredRun } from '../../engine/model/stored-run.ts'
import { type EffectType, isWorkflowEffect, type WorkflowEffect } from '../../steps/effects.ts'
import type { EmittedEvent } from '../automation/emit-events.ts'
import type { ConsentChange } from '../contacts/change-consents.ts'
import type { ContactChange } from '../contacts/change-contacts.ts'
import type { TagChange } from '../contacts/change-tags.ts'
import type { Assignment } from '../conversations/assign-conversations.ts'
import type { Pause } from '../conversations/automation.ts'
import type { Close } from '../conversations/close-conversations.ts'
import type { GroupChange } from '../groups/change-group-contacts.ts'
import type { NewNote } from '../outbound/add-notes.ts'
import type { NewOutbound } from '../outbound/queue-messages.ts'

/** The changes that the effects of a batch request, by kind and in the order of the effects. */
export type Changes = {
  messages: NewOutbound[]
  contacts: ContactChange[]
  tags: TagChange[]
  pauses: Pause[]
  resumptions: string[]
  groups: GroupChange[]
  consents: ConsentChange[]
  notes: NewNote[]
  assignments: Assignment[]
  closes: Close[]
  events: EmittedEvent[]
}

/** The origin of an effect. `depth` is that of the events that it emits: one more than the run's. */
type Origin = Omit<RunEffects, 'requests'> & { stepId: string; depth: number }

type Collector<Type extends EffectType> = (changes: Changes, effect: WorkflowEffect<Type>, origin: Origin) => void

/** One collector for each effect type: a type without one does not compile. */
const COLLECTORS: { [Type in EffectType]: Collector<Type> } = {
  send_message(changes, effect, origin) {
    const replyToId = effect.replyToId ?? effect.content?.reaction?.messageId
    collectMessage(changes, { ...effect, content: toContent(effect), replyToId }, origin)
  },
  send_template: collectMessage,
  update_contact({ contacts }, { values }, { subject: { contactId }, depth }) {
    if (contactId !== null) contacts.push({ contactId, values, depth })
  },
  add_tag: collectTags,
  remove_tag: collectTags,
  set_consent({ consents }, choices, { run, subject: { contactId }, depth }) {
    if (contactId === null) return
    const actor = toSender(run)
    for (const purpose of ['marketing', 'service'] as const) {
      const state = choices[purpose]
      if (state) consents.push({ contactId, purpose, state, source: 'workflow', actor, depth })
    }
  },
  add_to_group: collectGroup,
  remove_from_group: collectGroup,
  assign({ assignments }, { to }, { subject: { conversationId } }) {
    if (conversationId !== null) assignments.push({ conversationId, to })
  },
  add_note({ notes }, { noteId, body }, { run, subject: { conversationId }, stepId }) {
    if (conversationId === null) return
    notes.push({ id: noteId, conversationId, body, sender: toSender(run), runId: run.state.id, stepId })
  },
  close_conversation({ closes }, _effect, { subject: { conversationId }, depth }) {
    if (conversationId !== null) closes.push({ conversationId, keepPaused: false, depth })
  },
  emit({ events }, { event, data }, { run, subject: { contactId }, depth, secrets }) {
    if (contactId === null) return
    events.push({ contactId, runId: run.state.id, secrets, event: { type: 'event', event, data }, depth })
  },
  handoff({ pauses, closes }, { reason, until }, { subject: { conversationId } }) {
    if (conversationId === null) return
    pauses.push({ conversationId, reason, until })
    // Closing resumes automation, unless a handoff follows it.
    for (const close of closes) if (close.conversationId === conversationId) close.keepPaused = true
  },
  resume_automation({ resumptions }, _effect, { subject: { conversationId } }) {
    if (conversationId !== null) resumptions.push(conversationId)
  },
}

export function collectChanges(effects: RunEffects[]): Changes {
  const changes: Changes = {
    messages: [],
    contacts: [],
    tags: [],
    pauses: [],
    resumptions: [],
    groups: [],
    consents: [],
    notes: [],
    assignments: [],
    closes: [],
    events: [],
  }
  for (const { requests, ...origin } of effects) {
    for (const { stepId, effect } of requests) {
      if (!isWorkflowEffect(effect)) throw new TypeError(`the effect type ${effect.type} is not registered`)
      collect(changes, effect, { ...origin, stepId, depth: origin.run.state.depth + 1 })
    }
  }
  return changes
}

function collect<Type extends EffectType>(changes: Changes, effect: WorkflowEffect<Type>, origin: Origin): void {
  COLLECTORS[effect.type](changes, effect, origin)
}

type Sent = Pick<NewOutbound, 'body' | 'content' | 'category' | 'replyToId'> & { messageId: string }

function collectMessage(
  { messages }: Changes,
  { messageId, body, content, category, replyToId }: Sent,
  origin: Origin,
): void {
  const { run, subject, stepId } = origin
  const { conversationId, contactId, conversation } = subject
  const channelId = conversation?.['channelId']
  if (conversationId === null || contactId === null || typeof channelId !== 'string') return
  messages.push({
    id: messageId,
    conversationId,
    contactId,
    channelId,
    body,
    content,
    ...(category ? { category } : {}),
    replyToId,
    sender: toSender(run),
    runId: run.state.id,
    stepId,
  })
}

function toContent({ buttons, media, content: parts }: WorkflowEffect<'send_message'>): OutboundContent | null {
  const content = { ...parts, ...(buttons.length > 0 ? { buttons } : {}), ...(media ? { media } : {}) }
  return Object.keys(content).length > 0 ? content : null
}

function toSender({ workflowId }: StoredRun) {
  return { type: 'workflow' as const, id: workflowId, name: null }
}

function collectTags(changes: Changes, effect: WorkflowEffect<'add_tag' | 'remove_tag'>, origin: Origin): void {
  const { contactId } = origin.subject
  if (contactId === null) return
  const isAdded = effect.type === 'add_tag'
  changes.tags.push(...effect.tags.map((tag) => ({ contactId, tag, isAdded, depth: origin.depth })))
}

function collectGroup(
  { groups }: Changes,
  { type, groupId }: WorkflowEffect<'add_to_group' | 'remove_from_group'>,
  { subject: { contactId }, depth }: Origin,
): void {
  if (contactId !== null) groups.push({ contactId, groupId, isAdded: type === 'add_to_group', depth })
}
