import { advanceJob } from './jobs.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { findMailboxes } from './find-mailboxes.ts'
import { listPublished } from './published-workflows.ts'
import { putItems } from './store/mailbox-store.ts'

export type RaisedEvent = {
  contactId: string
  /** What it happened to, if it is a conversation's. */
  conversationId?: string
  event: WorkflowEvent
  /** How many runs stand between this and what a person or the outside did. */
  depth?: number
}

/**
 * Lets workflows know of what happened to contacts: in the conversation that it happened to, else in their newest one, or
 * with the contact if there is none.
 * What no published workflow and no waiting run could care about is left out.
 */
export async function raiseEvents(tx: Scope, raised: RaisedEvent[]): Promise<void> {
  if (raised.length === 0) return
  const wanted = await listWanted(tx)
  const heard = raised.filter(({ event }) => event.type === 'event' || wanted.has(event.type))
  const places = await findMailboxes(
    tx,
    heard.map(({ contactId }) => contactId),
  )
  const items = heard.flatMap(({ contactId, conversationId, event, depth = 0 }) => {
    const mailbox = conversationId
      ? { kind: 'conversation' as const, id: conversationId }
      : places.get(contactId)?.mailbox
    return mailbox ? [{ id: newId(), mailbox, kind: 'event' as const, payload: { event, messageId: null, depth } }] : []
  })
  if (items.length === 0) return
  await putItems(tx, items)
  await tx.enqueue(advanceJob(tx.tenantId))
}

async function listWanted(tx: Scope): Promise<Set<string>> {
  const published = await listPublished(tx)
  return new Set(published.flatMap(({ compiled }) => compiled.triggers.map(({ type }) => type)))
}
