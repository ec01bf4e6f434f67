import type { NumberChange } from '../../channels/channel.ts'
import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { phoneCountry, toPhoneKey } from '../../platform/phone.ts'
import { addMs, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { saveIdentities } from '../contacts/save-identities.ts'
import { findContacts, senderKey, toIdentities } from './resolve-senders.ts'

/** Moves contacts to the new phone numbers and ids of their people, in order. */
export async function changeNumbers(tx: Scope, channelId: string, changes: NumberChange[]): Promise<void> {
  for (const change of changes) await changeNumber(tx, channelId, change)
}

/**
 * Moves one contact. If another contact has the new number already, that contact keeps it, and this one loses the old
 * number, which the provider may give to somebody else. A contact that was created after the change is somebody else.
 */
async function changeNumber(tx: Scope, channelId: string, { from, to, at }: NumberChange): Promise<void> {
  const { contacts } = await findContacts(tx, channelId, [from, to])
  const contactId = contacts.get(senderKey(from))
  const otherId = contacts.get(senderKey(to))
  if (contactId === undefined || contactId === otherId) return
  for (const id of [contactId, otherId].filter((id) => id !== undefined).sort()) await tx.lock(ContactRow, id)
  const contact = await tx.get(ContactRow, contactId)
  // The provider's times have no milliseconds.
  if (contact.createdAt >= addMs(at, SECOND)) return
  await removeIdentities(tx, channelId, contactId, to.phone === null ? null : from.phone)
  const isFree = otherId === undefined
  const hasOldNumber = to.phone !== null && (contact.phone === null || isSameNumber(contact.phone, from.phone))
  if (hasOldNumber) {
    const phone = isFree ? to.phone : null
    const phoneKey = phone && toPhoneKey(phone)
    const country = phone === null ? contact.country : phoneCountry(phone)
    await tx.query(ContactRow).findOne('id', contactId).patch({ phone, phoneKey, country, updatedAt: tx.now() })
  }
  if (isFree) {
    await saveIdentities(
      tx,
      channelId,
      toIdentities(to).map((identity) => ({ ...identity, contactId })),
    )
  } else
    await tx.record({ type: 'contact.number_conflict', data: { contactId, conflictingContactId: otherId, channelId } })
  await tx.record({ type: 'contact.updated', data: { contactId } })
  if (hasOldNumber) await raiseEvents(tx, [{ contactId, event: { type: 'contact_updated', fields: ['phone'] } }])
}

/** Removes the old number on every channel, and the person's ids on this one, which end with the number. */
async function removeIdentities(tx: Scope, channelId: string, contactId: string, phone: string | null): Promise<void> {
  await tx.db.raw(
    `delete from contact_identities where tenant_id = :tenantId and contact_id = :contactId
       and (kind = 'phone' and value = :phone or kind = 'bsuid' and channel_id = :channelId)`,
    { tenantId: tx.tenantId, contactId, channelId, phone },
  )
}

function isSameNumber(phone: string, other: string | null): boolean {
  return other !== null && toPhoneKey(phone) === toPhoneKey(other)
}
