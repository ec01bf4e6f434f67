import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import { recordPayload } from '../../engine/redact/record-payload.ts'
import { newId } from '../../platform/ids.ts'
import type { Event } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { advanceJob } from './jobs.ts'
import { listPublished } from './published-workflows.ts'
import { putItems } from './store/mailbox-store.ts'

/** A larger payload is truncated for readers: lists have 100 events. */
const PAYLOAD_BYTES_MAX = 64 * 1024

export type EmittedEvent = {
  contactId: string
  /** Conversation in which the event happened, if it happened in one. */
  conversationId?: string
  event: WorkflowEvent
  /** The run that emitted the event. */
  runId?: string
  /** Values of the run's sensitive variables, which readers of a custom event do not see. */
  secrets?: readonly string[]
  /** Number of runs between the event and the action of a person or external system that caused it. */
  depth?: number
}

type ContactMailbox = { mailbox: Mailbox; conversationId: string | null }

/**
 * Puts events into mailboxes, so that workflows react to them: into that of the event's conversation, else of the
 * contact's newest conversation, else of the contact. Events that no published workflow and no waiting run can react to
 * are left out.
 */
export async function emitEvents(tx: Scope, emitted: EmittedEvent[]): Promise<void> {
  if (emitted.length === 0) return
  await tx.record(...emitted.flatMap(toCustomEvent))
  const triggerTypes = await listTriggerTypes(tx)
  const relevant = emitted.filter(({ event }) => event.type === 'event' || triggerTypes.has(event.type))
  const mailboxes = await findMailboxes(
    tx,
    relevant.map(({ contactId }) => contactId),
  )
  const items = relevant.flatMap(({ contactId, conversationId, event, depth = 0 }) => {
    const mailbox = conversationId
      ? { kind: 'conversation' as const, id: conversationId }
      : mailboxes.get(contactId)?.mailbox
    return mailbox ? [{ id: newId(), mailbox, kind: 'event' as const, payload: { event, messageId: null, depth } }] : []
  })
  if (items.length === 0) return
  await putItems(tx, items)
  tx.enqueue(advanceJob(tx.tenantId))
}

/**
 * Programs and front ends get a custom event whether workflows react to it or not, with its data as steps are recorded.
 * Data without fields are none.
 */
function toCustomEvent({ contactId, runId, event, secrets = [] }: EmittedEvent): Event[] {
  if (event.type !== 'event') return []
  const payload = isEmpty(event.data) ? null : recordPayload(event.data, secrets, PAYLOAD_BYTES_MAX)
  return [{ type: `custom.${event.event}`, data: { contactId, runId: runId ?? null }, payload }]
}

function isEmpty(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Object.keys(data).length === 0
}

/** Finds the mailbox of each contact: its newest conversation, or the contact itself if it has none. */
export async function findMailboxes(tx: Scope, contactIds: string[]): Promise<Map<string, ContactMailbox>> {
  if (contactIds.length === 0) return new Map()
  const rows = await tx.sql<{ contactId: string; conversationId: string | null }>('findMailboxes')`
    select c.id as contact_id, newest.id as conversation_id
     from contacts c left join lateral (
       select cv.id from conversations cv where cv.tenant_id = ${tx.tenantId} and cv.contact_id = c.id
       order by cv.last_message_at desc nulls last, cv.id desc limit 1) newest on true
     where c.tenant_id = ${tx.tenantId} and c.id = any(${contactIds})`
  return new Map(
    rows.map(({ contactId, conversationId }) => [
      contactId,
      conversationId === null
        ? { mailbox: { kind: 'contact', id: contactId }, conversationId }
        : { mailbox: { kind: 'conversation', id: conversationId }, conversationId },
    ]),
  )
}

async function listTriggerTypes(tx: Scope): Promise<Set<string>> {
  const published = await listPublished(tx)
  return new Set(published.flatMap(({ compiled }) => compiled.triggers.map(({ type }) => type)))
}
