import type { Sender } from '../../channels/channel.ts'
import { newId } from '../../platform/ids.ts'
import { phoneCountry } from '../../platform/phone.ts'
import type { Scope } from '../../scope.ts'

type Identity = { kind: 'phone' | 'bsuid'; value: string }
type Found = {
  /** By `senderKey`. */
  contacts: Map<string, string>
  /** What the channel knows already, as `kind value`. */
  identities: Set<string>
}
export type ResolvedSender = { contactId: string; isNew: boolean }

/** One name for a sender within a batch. */
export function senderKey({ phone, userId }: Sender): string {
  return phone ?? userId ?? ''
}

/**
 * The contacts behind senders of a channel, by `senderKey`; whoever is not there yet is created. A sender is known by
 * the channel's own ids first, then by phone number. Two transactions that meet the same stranger make one contact.
 */
export async function resolveSenders(
  tx: Scope,
  channelId: string,
  senders: Sender[],
): Promise<Map<string, ResolvedSender>> {
  const distinct = [...new Map(senders.map((sender) => [senderKey(sender), sender])).values()]
  const { contacts: known, identities } = await findContacts(tx, channelId, distinct)
  const strangers = distinct.filter((sender) => !known.has(senderKey(sender)))
  if (strangers.length > 0) {
    await lockStrangers(tx, channelId, strangers)
    // Somebody else may have met them while we waited.
    const { contacts: met } = await findContacts(tx, channelId, strangers)
    for (const [key, contactId] of met) known.set(key, contactId)
  }
  const created = await createContacts(
    tx,
    strangers.filter((sender) => !known.has(senderKey(sender))),
  )
  const all = new Map([...known, ...created])
  const isNews = (sender: Sender) => identitiesOf(sender).some(({ kind, value }) => !identities.has(`${kind} ${value}`))
  await rememberIdentities(tx, channelId, distinct.filter(isNews), all)
  return new Map([...all].map(([key, contactId]) => [key, { contactId, isNew: created.has(key) }]))
}

function identitiesOf({ phone, userId }: Sender): Identity[] {
  return [
    ...(userId === null ? [] : [{ kind: 'bsuid' as const, value: userId }]),
    ...(phone === null ? [] : [{ kind: 'phone' as const, value: phone }]),
  ]
}

async function findContacts(tx: Scope, channelId: string, senders: Sender[]): Promise<Found> {
  const values = senders.flatMap(identitiesOf).map(({ value }) => value)
  const phones = senders.flatMap(({ phone }) => phone ?? [])
  const { rows } = await tx.db.raw<{ rows: { kind: string | null; value: string; contact_id: string }[] }>(
    `select kind, value, contact_id from contact_identities where tenant_id = ? and channel_id = ? and value = any(?)
     union all
     select null, phone, id from contacts where tenant_id = ? and phone = any(?)`,
    [tx.tenantId, channelId, values, tx.tenantId, phones],
  )
  // What the channel says of a person goes before what a list says.
  const byValue = new Map(rows.toReversed().map(({ value, contact_id }) => [value, contact_id]))
  const contacts = new Map(
    senders.flatMap((sender) => {
      const contactId = identitiesOf(sender)
        .map(({ value }) => byValue.get(value))
        .find((id) => id !== undefined)
      return contactId ? [[senderKey(sender), contactId]] : []
    }),
  )
  return { contacts, identities: new Set(rows.flatMap(({ kind, value }) => (kind ? [`${kind} ${value}`] : []))) }
}

async function lockStrangers(tx: Scope, channelId: string, senders: Sender[]): Promise<void> {
  const names = senders.flatMap(identitiesOf).map(({ value }) => `${tx.tenantId}\n${channelId}\n${value}`)
  await tx.db.raw(
    `select pg_advisory_xact_lock(key) from (
       select distinct hashtextextended(name, 1) as key from unnest(?::text[]) as name order by key) keys`,
    [names],
  )
}

async function createContacts(tx: Scope, senders: Sender[]): Promise<Map<string, string>> {
  if (senders.length === 0) return new Map()
  const now = tx.now()
  // In one order everywhere: somebody else may be creating the same people from another channel.
  const sorted = senders.toSorted((a, b) => (senderKey(a) < senderKey(b) ? -1 : 1))
  const rows = sorted.map((sender) => ({
    tenant_id: tx.tenantId,
    id: newId(),
    name: (sender.profileName?.trim() || sender.username || sender.phone || 'Unknown').slice(0, 200),
    phone: sender.phone,
    username: sender.username,
    country: sender.phone === null ? null : phoneCountry(sender.phone),
    source: 'inbound',
    created_at: now,
    updated_at: now,
  }))
  // Another channel, or the API, may be creating the same number right now: its row wins.
  const inserted = await tx.db('contacts').insert(rows).onConflict(['tenant_id', 'phone']).ignore().returning('id')
  const own = new Set((inserted as { id: string }[]).map(({ id }) => id))
  const created = sorted.flatMap((sender, index): [string, string][] => {
    const id = rows[index]?.id ?? ''
    return own.has(id) ? [[senderKey(sender), id]] : []
  })
  const lost = sorted.filter((_, index) => !own.has(rows[index]?.id ?? ''))
  if (lost.length === 0) return new Map(created)
  const phones = lost.flatMap(({ phone }) => phone ?? [])
  const winners = await tx
    .db('contacts')
    .where('tenant_id', tx.tenantId)
    .whereRaw('phone = any(?)', [phones])
    .select<{ id: string; phone: string }[]>('id', 'phone')
  return new Map([...created, ...winners.map(({ id, phone }): [string, string] => [phone, id])])
}

async function rememberIdentities(
  tx: Scope,
  channelId: string,
  senders: Sender[],
  contacts: Map<string, string>,
): Promise<void> {
  if (senders.length === 0) return
  const now = tx.now()
  const rows = senders.flatMap((sender) =>
    identitiesOf(sender).map(({ kind, value }) => ({
      tenant_id: tx.tenantId,
      id: newId(),
      contact_id: contacts.get(senderKey(sender)),
      channel_id: channelId,
      kind,
      value,
      created_at: now,
    })),
  )
  rows.sort((a, b) => (a.value < b.value ? -1 : 1))
  await tx.db('contact_identities').insert(rows).onConflict(['tenant_id', 'channel_id', 'kind', 'value']).ignore()
}
