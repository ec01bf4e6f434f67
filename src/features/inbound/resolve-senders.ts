import type { Sender } from '../../channels/channel.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { groupBy } from '../../platform/group-by.ts'
import { newId } from '../../platform/ids.ts'
import { phoneCountry, toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { findGoneIds } from '../automation/deleted-message-ids.ts'
import { lockContacts, sortForLocking } from '../automation/lock-order.ts'
import { carryRestrictions } from '../consent/carry-restrictions.ts'
import { findByPhone } from '../contacts/find-or-create-contacts.ts'
import { type NewIdentity, saveIdentities } from '../contacts/identities.ts'

type Identity = Pick<NewIdentity, 'kind' | 'value'>
type Lookup = {
  /** Contacts by `senderKey`. */
  contacts: Map<string, string>
  /** Identities that the channel has stored, by `identityKey`. */
  identities: Set<string>
  /** Further contacts with an ID or the phone number of the sender, by `senderKey`. */
  others: Map<string, string[]>
}
/** A sender, and the message that names it; null if another part of a webhook call does. */
type Arrival = { sender: Sender; providerMessageId: string | null }
export type ResolvedSender = {
  contactId: string
  isNew: boolean
  /** Contacts that were created before the provider named the sender's ID and phone number together. */
  otherIds: string[]
}

/** Senders of a batch that are one person: each has an id or a phone number in common with another one. */
type Person = { senders: Sender[]; names: Set<string> }

/** Key of a sender within a batch. */
export function senderKey({ phone, userId }: Sender): string {
  return phone ?? userId ?? ''
}

function identityKey({ kind, value }: { kind: string; value: string }): string {
  return `${kind} ${value}`
}

/**
 * Finds or creates the contacts of a channel's senders, by `senderKey`. A sender is found by the channel's own ids
 * first, then by any spelling of its phone number. Two concurrent transactions with the same unknown sender create one
 * contact. One whose messages have all been deleted, with its contact for example, is left out.
 */
export async function resolveSenders(
  tx: Scope,
  channelId: string,
  arrivals: Arrival[],
): Promise<Map<string, ResolvedSender>> {
  const providerMessageIds = arrivals.flatMap(({ providerMessageId }) => providerMessageId ?? [])
  const [{ contacts: known, identities, others }, deletedIds] = await Promise.all([
    findContacts(
      tx,
      channelId,
      arrivals.map(({ sender }) => sender),
    ),
    findGoneIds(tx, channelId, providerMessageIds),
  ])
  const expected = arrivals.filter(({ providerMessageId }) => !deletedIds.has(providerMessageId ?? ''))
  const distinct = [...new Map(expected.map(({ sender }) => [`${sender.phone} ${sender.userId}`, sender])).values()]
  const people = groupByPerson(distinct)
  const expectedKeys = new Set(distinct.map(senderKey))
  const contacts = new Map([...known].filter(([key]) => expectedKeys.has(key)))
  const unknownPeople = people.filter((person) => findContactId(person, contacts) === undefined)
  if (unknownPeople.length > 0) {
    await lockPeople(tx, channelId, unknownPeople)
    // Another transaction may have created them while this one waited for the locks.
    const found = await findContacts(
      tx,
      channelId,
      unknownPeople.flatMap((person) => person.senders),
    )
    for (const [key, contactId] of found.contacts) contacts.set(key, contactId)
    for (const [key, otherIds] of found.others) others.set(key, otherIds)
  }
  const created = await createContacts(
    tx,
    unknownPeople.filter((person) => findContactId(person, contacts) === undefined),
  )
  for (const person of people) {
    const contactId = findContactId(person, contacts) ?? created.get(person)?.contactId
    if (contactId === undefined) throw new Error('a contact was deleted while it was looked up')
    // A sender that is known itself keeps its contact.
    for (const key of person.senders.map(senderKey)) contacts.set(key, contacts.get(key) ?? contactId)
  }
  await saveNewIdentities(tx, channelId, { senders: distinct, contacts, identities })
  const newIds = new Set([...created.values()].flatMap(({ contactId, isNew }) => (isNew ? [contactId] : [])))
  return new Map(
    [...contacts].map(([key, contactId]) => {
      const otherIds = (others.get(key) ?? []).filter((id) => id !== contactId)
      return [key, { contactId, isNew: newIds.has(contactId), otherIds }]
    }),
  )
}

function groupByPerson(senders: Sender[]): Person[] {
  const parents = new Map<string, string>()
  const findRoot = (name: string) => {
    let root = name
    for (let parent = parents.get(root); parent !== undefined && parent !== root; parent = parents.get(root)) {
      // Halves the path, so that the next search is short.
      parents.set(root, parents.get(parent) ?? parent)
      root = parent
    }
    return root
  }
  for (const [first = '', ...others] of senders.map(toNames)) {
    for (const name of others) parents.set(findRoot(name), findRoot(first))
  }
  const people = new Map<string, Person>()
  for (const sender of senders) {
    const names = toNames(sender)
    const root = findRoot(names[0] ?? '')
    const person = people.get(root) ?? { senders: [], names: new Set() }
    person.senders.push(sender)
    for (const name of names) person.names.add(name)
    people.set(root, person)
  }
  return [...people.values()]
}

function findContactId({ senders }: Person, contacts: Map<string, string>): string | undefined {
  return senders.map((sender) => contacts.get(senderKey(sender))).find((id) => id !== undefined)
}

/** Lists the ids of a person that do not depend on the spelling of the number. */
function toNames({ phone, userId }: Sender): string[] {
  return [...(userId === null ? [] : [userId]), ...(phone === null ? [] : [toPhoneKey(phone)])]
}

export function toIdentities({ phone, userId }: Sender): Identity[] {
  return [
    ...(userId === null ? [] : [{ kind: 'bsuid' as const, value: userId }]),
    ...(phone === null ? [] : [{ kind: 'phone' as const, value: phone }]),
  ]
}

/**
 * Finds contacts of senders. Statements of one table each are planned once; one of both costs several times as much on a
 * distributed database.
 */
export async function findContacts(tx: Scope, channelId: string, senders: Sender[]): Promise<Lookup> {
  const values = senders.flatMap(toIdentities).map(({ value }) => value)
  const phoneKeys = senders.flatMap(({ phone }) => (phone === null ? [] : [toPhoneKey(phone)]))
  const [stored, ofPhones] = await Promise.all([
    tx.sql<{ kind: string; value: string; contactId: string }>('findIdentities')`
      select kind, value, contact_id from contact_identities
       where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and kind in ('phone', 'bsuid') and value = any(${values})`,
    tx.sql<{ value: string; contactId: string }>('findPhones')`
      select phone_key as value, id as contact_id
       from contacts where tenant_id = ${tx.tenantId} and phone_key = any(${phoneKeys})`,
  ])
  const rows = [...stored, ...ofPhones]
  // Identities of the channel take precedence over the phone numbers of contacts.
  const byValue = new Map(rows.toReversed().map(({ value, contactId }) => [value, contactId]))
  const contacts = new Map(
    senders.flatMap((sender) => {
      const contactId = [...toIdentities(sender).map(({ value }) => value), ...toNames(sender)]
        .map((value) => byValue.get(value))
        .find((id) => id !== undefined)
      return contactId ? [[senderKey(sender), contactId]] : []
    }),
  )
  const rowsByValue = groupBy(rows, ({ value }) => value)
  const others = new Map(
    senders.map((sender) => {
      const values = new Set([...toIdentities(sender).map(({ value }) => value), ...toNames(sender)])
      const found = [...values].flatMap((value) => rowsByValue.get(value) ?? [])
      return [senderKey(sender), [...new Set(found.map(({ contactId }) => contactId))]]
    }),
  )
  return {
    contacts,
    others,
    identities: new Set(stored.map(identityKey)),
  }
}

/** Takes advisory locks: there are no rows of unknown senders that could be locked. */
async function lockPeople(tx: Scope, channelId: string, people: Person[]): Promise<void> {
  const names = people.flatMap((person) => [...person.names]).map((name) => `${tx.tenantId}\n${channelId}\n${name}`)
  await tx.sql('lockSenders')`
    select pg_advisory_xact_lock(key) from (
       select distinct hashtextextended(name, 1) as key from unnest(${names}::text[]) as name order by key) keys`
}

/** Creates a contact for each person. One that another transaction created first is used instead. */
async function createContacts(tx: Scope, people: Person[]): Promise<Map<Person, ResolvedSender>> {
  if (people.length === 0) return new Map()
  const candidates = people.map((person) => {
    const phone = person.senders.find((sender) => sender.phone !== null)?.phone ?? null
    const username = person.senders.find((sender) => sender.username !== null)?.username ?? null
    const profileName = person.senders.find((sender) => sender.profileName?.trim())?.profileName?.trim()
    const name = (profileName || username || phone || 'Unknown').slice(0, 200).toWellFormed()
    return {
      person,
      id: newId(),
      phone,
      row: { name, phone, username, phoneKey: phone && toPhoneKey(phone), country: phone && phoneCountry(phone) },
    }
  })
  // Another channel or the API may create a contact with the same number at this moment: its row wins.
  const now = tx.now()
  const rows = sortForLocking(
    candidates.map(({ id, row }) => ({ id, ...row, source: 'inbound', createdAt: now, updatedAt: now })),
    ({ phoneKey, id }) => phoneKey ?? id,
  )
  const inserted = await tx.sql<{ id: string }>('createSenders')`
    ${insertRowsSql('contacts', tx.tenantId, rows)} on conflict do nothing returning id`
  const insertedIds = new Set(inserted.map(({ id }) => id))
  const conflicting = candidates.flatMap(({ id, phone }) => (phone === null || insertedIds.has(id) ? [] : [{ phone }]))
  const winners = conflicting.length > 0 ? await findByPhone(tx, conflicting) : new Map<string, string>()
  return new Map(
    candidates.flatMap(({ person, id, row: { phoneKey } }): [Person, ResolvedSender][] => {
      if (insertedIds.has(id)) return [[person, { contactId: id, isNew: true, otherIds: [] }]]
      const contactId = winners.get(phoneKey ?? '')
      return contactId === undefined ? [] : [[person, { contactId, isNew: false, otherIds: [] }]]
    }),
  )
}

type KnownSenders = Pick<Lookup, 'contacts' | 'identities'> & { senders: Sender[] }

async function saveNewIdentities(
  tx: Scope,
  channelId: string,
  { senders, contacts, identities }: KnownSenders,
): Promise<void> {
  await saveIdentities(
    tx,
    channelId,
    senders.flatMap((sender) => {
      const contactId = contacts.get(senderKey(sender)) ?? ''
      const newIdentities = toIdentities(sender).filter((identity) => !identities.has(identityKey(identity)))
      return newIdentities.map((identity) => ({ ...identity, contactId }))
    }),
  )
}

const SAME_PERSON = 'The person had opted out under an ID or a phone number that the provider now names together'

/** Applies opt-outs and blocks to all contacts of a person. The caller holds the locks of the conversations. */
export async function carryBetweenContacts(
  tx: Scope,
  channelId: string,
  people: Iterable<ResolvedSender>,
): Promise<void> {
  const pairs = [...people].flatMap(({ contactId, otherIds }) =>
    otherIds.map((otherId) => [contactId, otherId] as const),
  )
  if (pairs.length === 0) return
  await lockContacts(tx, pairs.flat())
  const carried = { channelId, text: SAME_PERSON, keepsLaterChoices: true }
  for (const [contactId, otherId] of pairs) {
    await carryRestrictions(tx, { ...carried, fromId: contactId, toId: otherId })
    await carryRestrictions(tx, { ...carried, fromId: otherId, toId: contactId })
  }
}
