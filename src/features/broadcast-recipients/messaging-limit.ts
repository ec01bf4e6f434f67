import { addMs, DAY, HOUR } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'

/** Converts the limit that the provider reports; null if there is none. */
export function parseMessagingLimit(limit: string | null): number | null {
  return limit === null || limit === 'unlimited' ? null : Number(limit)
}

/**
 * Returns how many more people the business may write to first. The provider limits those within 24 hours, for all
 * numbers of the business together. They are counted by hour, and the oldest hour counts as a whole.
 */
export async function readRemainingLimit(tx: Scope, limit: number): Promise<number> {
  const [row] = await tx.sql<{ used: number }>('readRemainingLimit')`
    select coalesce(sum(count), 0)::int as used from first_contact_hours
    where tenant_id = ${tx.tenantId} and hour > ${addMs(tx.now(), -DAY - HOUR)}`
  return Math.max(0, limit - (row?.used ?? 0))
}

/** Lists the contacts of a batch who have not been counted within 24 hours. */
export async function listUncounted(tx: Scope, contactIds: string[]): Promise<Set<string>> {
  const counted = await tx.sql<{ contactId: string }>('listUncounted')`
    select contact_id from first_contacts
    where tenant_id = ${tx.tenantId} and contact_id = any(${contactIds}) and counted_at > ${addMs(tx.now(), -DAY)}`
  const known = new Set(counted.map(({ contactId }) => contactId))
  return new Set(contactIds.filter((contactId) => !known.has(contactId)))
}

type TemplateMessage = { conversationId: string; category?: string | null | undefined }

/**
 * Counts the contacts to whom the business writes first with these messages: templates outside the service window, each
 * contact once in 24 hours. The caller holds the locks of the conversations.
 */
export async function countFirstContacts(tx: Scope, messages: TemplateMessage[]): Promise<void> {
  const templates = messages.filter(({ category }) => category)
  if (templates.length === 0) return
  const now = tx.now()
  const hour = new Date(Math.floor(now.getTime() / HOUR) * HOUR)
  const conversationIds = templates.map(({ conversationId }) => conversationId)
  await tx.sql('countFirstContacts')`
    with outside as (
       select distinct contact_id from conversations where tenant_id = ${tx.tenantId} and id = any(${conversationIds})
         and (window_expires_at is null or window_expires_at <= ${now})),
     counted as (
       insert into first_contacts as f (tenant_id, contact_id, counted_at)
       select ${tx.tenantId}::uuid, contact_id, ${now}::timestamptz from outside order by contact_id
       on conflict (tenant_id, contact_id) do update set counted_at = excluded.counted_at where f.counted_at <= ${addMs(now, -DAY)}
       returning 1)
     insert into first_contact_hours as h (tenant_id, hour, count)
     select ${tx.tenantId}::uuid, ${hour}::timestamptz, count(*) from counted having count(*) > 0
     on conflict (tenant_id, hour) do update set count = h.count + excluded.count`
}
