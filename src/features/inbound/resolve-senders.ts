import type { Sender } from '../../channels/channel.ts'
import { selectRows, toRecordset } from '../../platform/database/sql.ts'
import { newId } from '../../platform/ids.ts'
import { phoneCountry } from '../../platform/phone.ts'
import type { Scope } from '../../scope.ts'
import { sortForLocking } from '../automation/lock-order.ts'

type Identity = { kind: 'phone' | 'bsuid'; value: string }
type Lookup = {
  /** Contacts by `senderKey`. */
  contacts: Map<string, string>
  /** Identities that the channel has stored, by `identityKey`. */
  identities: Set<string>
}
export type ResolvedSender = { contactId: string; isNew: boolean }

/** Key of a sender within a batch. */
export function senderKey({ phone, userId }: Sender): string {
  return phone ?? userId ?? ''
}

function identityKey({ kind, value }: { kind: string; value: string }): string {
  return `${kind} ${value}`
}

/**
 * Finds or creates the contacts of a channel's senders, by `senderKey`. A sender is found by the channel's own ids
 * first, then by phone number. Two concurrent transactions with the same unknown sender create one contact.
 */
export async function resolveSenders(
  tx: Scope,
  channelId: string,
  senders: Sender[],
): Promise<Map<string, ResolvedSender>> {
  const distinct = [...new Map(senders.map((sender) => [senderKey(sender), sender])).values()]
  const { contacts, identities } = await findContacts(tx, channelId, distinct)
  const unknownSenders = distinct.filter((sender) => !contacts.has(senderKey(sender)))
  if (unknownSenders.length > 0) {
    await lockSenders(tx, channelId, unknownSenders)
    // Another transaction may have created them while this one waited for the locks.
    const found = await findContacts(tx, channelId, unknownSenders)
    for (const [key, contactId] of found.contacts) contacts.set(key, contactId)
  }
  const created = await createContacts(
    tx,
    unknownSenders.filter((sender) => !contacts.has(senderKey(sender))),
  )
  const all = new Map([...contacts, ...created])
  const hasNewIdentity = (sender: Sender) =>
    toIdentities(sender).some((identity) => !identities.has(identityKey(identity)))
  await saveIdentities(tx, channelId, distinct.filter(hasNewIdentity), all)
  return new Map([...all].map(([key, contactId]) => [key, { contactId, isNew: created.has(key) }]))
}

function toIdentities({ phone, userId }: Sender): Identity[] {
  return [
    ...(userId === null ? [] : [{ kind: 'bsuid' as const, value: userId }]),
    ...(phone === null ? [] : [{ kind: 'phone' as const, value: phone }]),
  ]
}

export async function findContacts(tx: Scope, channelId: string, senders: Sender[]): Promise<Lookup> {
  const values = senders.flatMap(toIdentities).map(({ value }) => value)
  const phones = senders.flatMap(({ phone }) => phone ?? [])
  const rows = await selectRows<{ kind: string | null; value: string; contactId: string }>(
    tx.db,
    `select kind, value, contact_id from contact_identities where tenant_id = ? and channel_id = ? and value = any(?)
     union all
     select null, phone, id from contacts where tenant_id = ? and phone = any(?)`,
    [tx.tenantId, channelId, values, tx.tenantId, phones],
  )
  // Identities of the channel take precedence over the phone numbers of contacts.
  const byValue = new Map(rows.toReversed().map(({ value, contactId }) => [value, contactId]))
  const contacts = new Map(
    senders.flatMap((sender) => {
      const contactId = toIdentities(sender)
        .map(({ value }) => byValue.get(value))
        .find((id) => id !== undefined)
      return contactId ? [[senderKey(sender), contactId]] : []
    }),
  )
  return {
    contacts,
    identities: new Set(rows.flatMap(({ kind, value }) => (kind ? [identityKey({ kind, value })] : []))),
  }
}

/** Takes advisory locks: there are no rows of unknown senders that could be locked. */
async function lockSenders(tx: Scope, channelId: string, senders: Sender[]): Promise<void> {
  const names = senders.flatMap(toIdentities).map(({ value }) => `${tx.tenantId}\n${channelId}\n${value}`)
  await tx.db.raw(
    `select pg_advisory_xact_lock(key) from (
       select distinct hashtextextended(name, 1) as key from unnest(?::text[]) as name order by key) keys`,
    [names],
  )
}

/** Creates contacts and returns their ids by `senderKey`. One that another transaction created first is used instead. */
async function createContacts(tx: Scope, senders: Sender[]): Promise<Map<string, string>> {
  if (senders.length === 0) return new Map()
  const candidates = sortForLocking(senders, senderKey).map((sender) => ({
    key: senderKey(sender),
    id: newId(),
    sender,
  }))
  const rows = candidates.map(({ id, sender: { profileName, username, phone } }) => ({
    id,
    name: (profileName?.trim() || username || phone || 'Unknown').slice(0, 200),
    phone,
    username,
    country: phone === null ? null : phoneCountry(phone),
  }))
  // Another channel or the API may create a contact with the same number at this moment: its row wins.
  const inserted = await selectRows<{ id: string }>(
    tx.db,
    `insert into contacts (tenant_id, id, name, phone, username, country, source, created_at, updated_at)
     select :tenantId::uuid, id, name, phone, username, country, 'inbound', :now::timestamptz, :now::timestamptz
     from jsonb_to_recordset(:rows::jsonb) as x (id uuid, name text, phone text, username text, country text)
     on conflict (tenant_id, phone) do nothing returning id`,
    { rows: toRecordset(rows), tenantId: tx.tenantId, now: tx.now() },
  )
  const insertedIds = new Set(inserted.map(({ id }) => id))
  const created = candidates.filter(({ id }) => insertedIds.has(id)).map(({ key, id }): [string, string] => [key, id])
  const conflicting = candidates.filter(({ id }) => !insertedIds.has(id))
  if (conflicting.length === 0) return new Map(created)
  const winners = await selectRows<{ id: string; phone: string }>(
    tx.db,
    'select id, phone from contacts where tenant_id = ? and phone = any(?)',
    [tx.tenantId, conflicting.flatMap(({ sender: { phone } }) => phone ?? [])],
  )
  return new Map([...created, ...winners.map(({ id, phone }): [string, string] => [phone, id])])
}

async function saveIdentities(
  tx: Scope,
  channelId: string,
  senders: Sender[],
  contacts: Map<string, string>,
): Promise<void> {
  if (senders.length === 0) return
  const rows = senders.flatMap((sender) =>
    toIdentities(sender).map(({ kind, value }) => ({
      tenant_id: tx.tenantId,
      id: newId(),
      contact_id: contacts.get(senderKey(sender)),
      channel_id: channelId,
      kind,
      value,
      created_at: tx.now(),
    })),
  )
  await tx
    .db('contact_identities')
    .insert(sortForLocking(rows, ({ value }) => value))
    .onConflict(['tenant_id', 'channel_id', 'kind', 'value'])
    .ignore()
}
