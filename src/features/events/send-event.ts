import { Contact as ContactRow } from '../../models/contacts.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { emitEvents } from '../automation/emit-events.ts'
import type { SentEvent, SendEvent } from './schema.ts'

/**
 * Sends an event of an external system for a contact. It is processed after the items that its mailbox already has.
 * @throws NotFoundError
 */
export function sendEvent(scope: Scope, { contactId, event, data }: SendEvent): Promise<SentEvent> {
  return scope.transaction(async (tx) => {
    const { id } = await tx.get(ContactRow, contactId)
    // Data of a contact that is deleted meanwhile would stay.
    const existing = await tx.sql('lockContactOfEvent')`
      select from contacts where tenant_id = ${tx.tenantId} and id = ${id} for key share`
    if (existing.length === 0) throw new NotFoundError('Contact')
    await emitEvents(tx, [{ contactId: id, event: { type: 'event', event, data: data ?? null } }])
    return { event, contactId: id, sentAt: tx.now() }
  })
}
