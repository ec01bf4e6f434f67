import { createHash } from 'node:crypto'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'

/** Providers repeat a call for up to a week, and stored messages and runs show that it has been processed. */
export const REPEAT_DAYS = 8

/**
 * Keeps that these messages arrived, which are about to be deleted, for as long as a provider may repeat them. Their IDs
 * at the provider may contain a phone number, so only hashes of them are kept.
 */
export async function keepDeletedIds(tx: Scope, messageIds: string[]): Promise<void> {
  const oldest = addMs(tx.now(), -REPEAT_DAYS * DAY)
  await tx.sql('keepDeletedIds')`
    insert into deleted_message_ids (tenant_id, hash, expires_at)
    select ${tx.tenantId}::uuid, ${hashSql(sqlFragment`p.channel_id`, sqlFragment`p.provider_message_id`)} as hash,
      p.created_at + ${REPEAT_DAYS}::int * interval '24 hours'
    from provider_message_ids p
    where p.tenant_id = ${tx.tenantId} and p.message_id = any(${messageIds}) and p.created_at > ${oldest}
    order by hash on conflict do nothing`
}

/** Finds those of the IDs at the provider whose messages have been deleted. */
export async function findDeletedIds(tx: Scope, channelId: string, providerMessageIds: string[]): Promise<Set<string>> {
  const byHash = new Map(providerMessageIds.map((id) => [hashId(channelId, id).toString('hex'), id]))
  const rows = await tx.sql<{ hash: Buffer }>('findDeletedIds')`
    select hash from deleted_message_ids
    where tenant_id = ${tx.tenantId} and hash = any(${[...byHash.keys()].map((hash) => Buffer.from(hash, 'hex'))}::bytea[])`
  return new Set(rows.map(({ hash }) => byHash.get(hash.toString('hex')) ?? ''))
}

/**
 * Finds those of the IDs at the provider whose messages have been deleted, or are about to be with their deleted contact.
 * While no contact is being deleted, statements of one table tell, in this order: what is deleted meanwhile has a hash by
 * the time of the second one.
 */
export async function findGoneIds(tx: Scope, channelId: string, providerMessageIds: string[]): Promise<Set<string>> {
  if (providerMessageIds.length === 0) return new Set()
  const [purges, deletedIds] = await Promise.all([
    tx.sql('findContactPurge')`select 1 as found from contact_purges where tenant_id = ${tx.tenantId} limit 1`,
    findDeletedIds(tx, channelId, providerMessageIds),
  ])
  if (purges.length === 0) return deletedIds
  const rows = await tx.sql<{ id: string }>('findGoneIds')`
    select x.id from unnest(${providerMessageIds}::text[]) as x (id)
    where ${isDeletedSql(tx, channelId, sqlFragment`x.id`)}`
  return new Set(rows.map(({ id }) => id))
}

/** SQL condition: the message with this ID at the provider has been deleted, or is about to be with its deleted contact. */
export function isDeletedSql({ tenantId }: Scope, channelId: string, providerMessageId: SqlFragment): SqlFragment {
  return sqlFragment`(exists (
    select from deleted_message_ids d
    where d.tenant_id = ${tenantId} and d.hash = ${hashSql(sqlFragment`${channelId}`, providerMessageId)})
    or exists (select from contact_purges gone where gone.tenant_id = ${tenantId}) and exists (
      select from provider_message_ids p
      join messages m on m.tenant_id = ${tenantId} and m.id = p.message_id
      join contact_purges gone on gone.tenant_id = ${tenantId} and gone.contact_id = m.contact_id
      where p.tenant_id = ${tenantId} and p.channel_id = ${channelId} and p.provider_message_id = ${providerMessageId}))`
}

/** The same as `hashSql`, which computes the hashes of stored IDs. */
function hashId(channelId: string, providerMessageId: string): Buffer {
  return createHash('sha256').update(`${channelId} ${providerMessageId}`).digest()
}

function hashSql(channelId: SqlFragment, providerMessageId: SqlFragment): SqlFragment {
  return sqlFragment`sha256(convert_to(${channelId}::text || ' ' || ${providerMessageId}, 'UTF8'))`
}
