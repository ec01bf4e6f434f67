import type { NumberChange } from '../../channels/channel.ts'
import { Contact as ContactRow } from '../../models/contacts.ts'
import { listChanged } from '../../platform/fields.ts'
import { phoneCountry, toPhoneKey } from '../../platform/phone.ts'
import { addMs, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { emitEvents } from '../automation/emit-events.ts'
import { carryRestrictions } from '../consent/carry-restrictions.ts'
import { removeIdentities, saveIdentities } from '../contacts/identities.ts'
import { findContacts, senderKey, toIdentities } from './resolve-senders.ts'

const FORMER_NUMBER = 'The person had opted out under the former number'

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
  // The old number goes on every channel in all of its spellings, and the person's ids on this one end with the number.
  await removeIdentities(tx, contactId, (identity) =>
    identity.kind === 'phone'
      ? to.phone !== null && isSameNumber(identity.value, from.phone)
      : identity.channelId === channelId,
  )
  const isFree = otherId === undefined
  const hasOldNumber = to.phone !== null && (contact.phone === null || isSameNumber(contact.phone, from.phone))
  const phone = !hasOldNumber ? contact.phone : isFree ? to.phone : null
  const country = phone === null || !hasOldNumber ? contact.country : phoneCountry(phone)
  if (hasOldNumber) {
    const phoneKey = phone && toPhoneKey(phone)
    await tx.query(ContactRow).findOne('id', contactId).patch({ phone, phoneKey, country, updatedAt: tx.now() })
  }
  if (isFree) {
    await saveIdentities(
      tx,
      channelId,
      toIdentities(to).map((identity) => ({ ...identity, contactId })),
    )
  } else {
    await tx.record({ type: 'contact.number_conflict', data: { contactId, conflictingContactId: otherId, channelId } })
    await carryRestrictions(tx, { fromId: contactId, toId: otherId, channelId, text: FORMER_NUMBER })
  }
  const changed = listChanged(contact, { phone, country })
  if (changed.length > 0) await tx.record({ type: 'contact.updated', data: { contactId, changed } })
  if (hasOldNumber) await emitEvents(tx, [{ contactId, event: { type: 'contact_updated', fields: ['phone'] } }])
}

function isSameNumber(phone: string, other: string | null): boolean {
  return other !== null && toPhoneKey(phone) === toPhoneKey(other)
}
