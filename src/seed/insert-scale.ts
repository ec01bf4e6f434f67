import { sqlFragment, type SqlFragment } from '../platform/database/statements/statement.ts'
import { toSender } from '../scope/dependencies.ts'
import type { Scope } from '../scope/scope.ts'
import { toSeedId } from './seed-id.ts'

/** Numbers of rows. The first of the contacts have the conversations. */
export type Scale = { contacts: number; conversations?: number }

/** Contacts of a statement, so that each takes about a second. */
const PORTION = 10_000
const CONTACTS_MAX = 10_000_000

const FIRST_NAMES = ['Ana', 'Bruno', 'Carla', 'José', 'Łucja', 'Mehmet', 'Zoë', 'Ravi', 'Fatima', 'Chen']
const LAST_NAMES = ['Silva', 'Müller', 'García', 'Okafor', 'Novák', 'Rossi', 'Tanaka', 'Dubois', 'Ivanova']

/** Time of the answer in a conversation. */
const ANSWERED_AT = sqlFragment`(at + interval '5 minutes')`

type Portion = { first: number; last: number; count: number; conversations: number; now: Date }

/**
 * Inserts contacts of the last ninety days: every tenth has the tag "vip", every fifth is in the group "Regulars", and
 * every second has opted in to marketing, with the entry of the ledger. Their numbers begin with +9991, which is of no
 * country. Conversations are closed, with a message of the customer and an answer of the owner.
 */
export async function insertScale(scope: Scope, { contacts, conversations = 0 }: Scale, now: Date): Promise<void> {
  if (contacts > CONTACTS_MAX) throw new Error(`A seed inserts at most ${CONTACTS_MAX} contacts`)
  if (conversations > contacts) throw new Error('A contact has one conversation: insert more contacts')
  await scope.transaction(async (tx) => {
    const owners = await insertOwners(tx)
    for (let first = 1; first <= contacts; first += PORTION) {
      const portion = { first, last: Math.min(first + PORTION - 1, contacts), count: contacts, conversations, now }
      await insertContacts(tx, portion, owners)
      const last = Math.min(portion.last, conversations)
      if (first <= last) await insertConversations(tx, { ...portion, last })
    }
  })
}

type Owners = { tagId: string; groupId: string }

async function insertOwners(tx: Scope): Promise<Owners> {
  const owners = { tagId: toSeedId(tx.tenantId, 'tag', 'vip'), groupId: toSeedId(tx.tenantId, 'group', 'Regulars') }
  await tx.sql('seedTag')`insert into tags (tenant_id, id, name) values (${tx.tenantId}, ${owners.tagId}, 'vip')`
  await tx.sql('seedGroup')`
    insert into groups (tenant_id, id, name) values (${tx.tenantId}, ${owners.groupId}, 'Regulars')`
  return owners
}

async function insertContacts(
  tx: Scope,
  { first, last, count, conversations, now }: Portion,
  owners: Owners,
): Promise<void> {
  await tx.sql('seedContacts')`
    with people as (
      select n, '+9991' || lpad(n::text, 8, '0') as phone, n % 2 = 0 as has_opted_in,
        n <= ${conversations}::int as has_written, ${now}::timestamptz - interval '90 days' * (1 - n::float / ${count}) as at
      from generate_series(${first}::int, ${last}::int) n),
    added as (
      insert into contacts (tenant_id, name, phone, phone_key, email, external_id, marketing_consent, consent_source,
        consent_at, last_inbound_at, last_outbound_at, created_at, updated_at)
      select ${tx.tenantId}::uuid,
        (${FIRST_NAMES}::text[])[1 + n % 10] || ' ' || (${LAST_NAMES}::text[])[1 + n % 9] || ' ' || n, phone, phone,
        'customer' || n || '@customer.example', 'crm-' || n, case when has_opted_in then 'opted_in' else 'unknown' end,
        case when has_opted_in then 'import' end, case when has_opted_in then at end,
        case when has_written then at end, case when has_written then ${ANSWERED_AT} end, at, at
      from people
      returning id, external_id, consent_at, created_at),
    consents as (
      insert into consent_entries (tenant_id, contact_id, purpose, state, source, actor, created_at)
      select ${tx.tenantId}::uuid, id, 'marketing', 'opted_in', 'import',
        '{"type": "system", "id": null, "name": null}'::jsonb, consent_at
      from added where consent_at is not null),
    tagged as (
      insert into contact_tags (tenant_id, contact_id, tag_id, created_at)
      select ${tx.tenantId}::uuid, id, ${owners.tagId}::uuid, created_at
      from added where right(external_id, 1) = '0')
    insert into group_contacts (tenant_id, group_id, contact_id, created_at)
    select ${tx.tenantId}::uuid, ${owners.groupId}::uuid, id, created_at
    from added where right(external_id, 1) in ('0', '5')`
}

/** SQL of an ID that begins with a time: the messages of a conversation are in the order of their IDs. */
function idAtSql(at: SqlFragment): SqlFragment {
  return sqlFragment`(regexp_replace(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0'), '^.{8}', '\\&-')
    || '-7' || substr(gen_random_uuid()::text, 16))::uuid`
}

/** No table is joined: new ones have no statistics yet, without which a join may compare all rows with all others. */
async function insertConversations(tx: Scope, { first, last }: Portion): Promise<void> {
  const externalIds = Array.from({ length: last - first + 1 }, (_, index) => `crm-${first + index}`)
  const answer = 'Yes, until six. See you soon!'
  await tx.sql('seedConversations')`
    with people as materialized (
      select c.id as contact_id, c.created_at as at, ${idAtSql(sqlFragment`c.created_at`)} as conversation_id,
        ${idAtSql(sqlFragment`c.created_at`)} as question_id, c.phone, (
          select ch.id from channels ch where ch.tenant_id = ${tx.tenantId} and ch.kind = 'sandbox') as channel_id
      from contacts c where c.tenant_id = ${tx.tenantId} and c.external_id = any(${externalIds}::text[])),
    talks as materialized (select *, ${idAtSql(ANSWERED_AT)} as answer_id from people),
    identities as (
      insert into contact_identities (tenant_id, contact_id, channel_id, kind, value, created_at)
      select ${tx.tenantId}::uuid, contact_id, channel_id, 'phone', phone, at from talks),
    opened as (
      insert into conversations (tenant_id, id, contact_id, channel_id, status, last_message, last_message_at,
        last_inbound_at, window_expires_at, closed_at, created_at, updated_at)
      select ${tx.tenantId}::uuid, conversation_id, contact_id, channel_id, 'closed',
        jsonb_build_object('id', answer_id, 'body', ${answer}::text, 'direction', 'outbound', 'type', 'text',
          'at', to_char(${ANSWERED_AT} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
        ${ANSWERED_AT}, at, at + interval '24 hours', ${ANSWERED_AT}, at, ${ANSWERED_AT}
      from talks),
    asked as (
      insert into messages (tenant_id, id, conversation_id, contact_id, channel_id, direction, body, status, sender,
        provider_at, created_at, updated_at)
      select ${tx.tenantId}::uuid, question_id, conversation_id, contact_id, channel_id, 'inbound',
        'Are you open today?', 'received', jsonb_build_object('type', 'contact', 'id', contact_id, 'name', null),
        at, at, at
      from talks)
    insert into messages (tenant_id, id, conversation_id, contact_id, channel_id, direction, body, status, sender,
        sent_at, delivered_at, created_at, updated_at)
      select ${tx.tenantId}::uuid, answer_id, conversation_id, contact_id, channel_id, 'outbound', ${answer}::text,
        'delivered', ${JSON.stringify(toSender(tx.actor))}::jsonb, ${ANSWERED_AT}, ${ANSWERED_AT}, ${ANSWERED_AT},
        ${ANSWERED_AT}
      from talks`
}
