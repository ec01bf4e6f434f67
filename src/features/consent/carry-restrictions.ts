import { Contact as ContactRow } from '../../models/contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import { cancelContactRuns } from '../automation/cancel-contact-runs.ts'
import { emitEvents } from '../automation/emit-events.ts'
import { changeConsents, type ConsentChange } from '../contacts/change-consents.ts'

type Carry = {
  fromId: string
  toId: string
  channelId: string
  text: string
  /** True to keep what the other contact chose later. */
  keepsLaterChoices?: boolean
}

/**
 * Applies the opt-outs and the block of a contact to another one that is the same person, so that neither is lost by
 * writing to the other. The caller holds the locks of its conversations.
 */
export async function carryRestrictions(
  tx: Scope,
  { fromId, toId, channelId, text, keepsLaterChoices = false }: Carry,
): Promise<void> {
  const rows = await tx.query(ContactRow).whereIn('id', [fromId, toId])
  const [from, to] = [fromId, toId].map((id) => rows.find((row) => row.id === id))
  if (!from || !to) return
  const consents = [
    { purpose: 'marketing', state: from.marketingConsent, at: from.consentAt },
    { purpose: 'service', state: from.serviceConsent, at: from.serviceConsentAt },
  ] as const
  const actor = { type: 'contact' as const, id: from.id, name: from.name }
  await changeConsents(
    tx,
    consents.flatMap(({ purpose, state, at }): ConsentChange[] =>
      state === 'opted_out'
        ? [
            {
              contactId: toId,
              channelId,
              purpose,
              state,
              source: 'provider',
              actor,
              text,
              ...(keepsLaterChoices && at ? { at } : {}),
            },
          ]
        : [],
    ),
  )
  if (!from.blocked || to.blocked) return
  await tx.query(ContactRow).findOne('id', toId).patch({ blocked: true, updatedAt: tx.now() })
  await emitEvents(tx, [{ contactId: toId, event: { type: 'contact_updated', fields: ['blocked'] } }])
  await cancelContactRuns(tx, toId)
  await tx.record({ type: 'contact.updated', data: { contactId: toId, changed: ['blocked'] } })
}
