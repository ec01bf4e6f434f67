import type { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import type { TemplateCategory } from '../../../models/messaging.ts'
import { toRecordset } from '../../../platform/database/sql.ts'
import type { Scope } from '../../../scope/scope.ts'
import { allowsRecipientSql, recipientStatusSql } from '../../broadcast-recipients/recipient-status.ts'
import { isAddressTakenSql } from '../../broadcast-recipients/take-addresses.ts'
import { type Eligibility, findSkipReason, type SkipReason } from '../../broadcast-recipients/skip-reason.ts'
import { ADDRESS, identitiesSql, isCappedSql } from '../audience/candidates.ts'
import { findQuietUntil } from '../schedule.ts'

/** Recipients whose quiet hours have begun are postponed in portions of this size. */
const POSTPONED_MAX = 1000

export type PickedRecipient = {
  id: string
  contactId: string
  /** Address of the contact at this moment, which may differ from that of the snapshot. */
  address: string
  params: Record<string, string>
}

type Row = Omit<PickedRecipient, 'address'> &
  Eligibility & {
    timezone: string | null
    /** Time until which the provider may refuse a message to the same person, after those that were sent. */
    pairLimitedUntilMs: number | null
  }

/**
 * Picks pending recipients of a locked broadcast who are due. Those who may not be sent the message any more are skipped,
 * and those who may be sent it later are postponed. The lock of the broadcast keeps others from taking an address meanwhile.
 */
export async function pickRecipients(
  tx: Scope,
  broadcast: BroadcastRow,
  { category, limit }: { category: TemplateCategory; limit: number },
): Promise<{ picked: PickedRecipient[]; hasMore: boolean }> {
  const now = tx.now()
  const rows = await tx.sql<Row>('pickRecipients')`
    select d.*, ${isAddressTakenSql(tx, 'd')} as is_address_taken
     from (
       select r.id, r.broadcast_id, r.contact_id, r.params, r.timezone, r.due_at, ${ADDRESS} as address, c.blocked, c.marketing_consent,
         c.service_consent, c.pair_limited_until_ms, ${isCappedSql(tx, broadcast)} as is_capped
       from broadcast_recipients r join contacts c on c.tenant_id = ${tx.tenantId} and c.id = r.contact_id
       cross join lateral (${identitiesSql(tx.tenantId, broadcast.channelId)}) i
       where r.tenant_id = ${tx.tenantId} and r.broadcast_id = ${broadcast.id} and r.status = 'pending' and r.due_at <= ${now}
       order by r.due_at, r.id limit ${limit}) d
     order by d.due_at, d.id`
  const skipped: { id: string; reason: SkipReason }[] = []
  const postponed: { id: string; until: Date }[] = []
  const timezones = new Set(rows.map(({ timezone }) => timezone))
  const quietEnds = new Map([...timezones].map((timezone) => [timezone, findQuietUntil(broadcast, timezone, now)]))
  const quiet = new Map<string | null, Date>()
  const picked: PickedRecipient[] = []
  const addresses = new Set<string>()
  const rules = { category, requiresOptIn: broadcast.requiresOptIn }
  for (const row of rows) {
    const { address } = row
    const reason = findSkipReason(row, rules, addresses)
    const quietUntil = quietEnds.get(row.timezone)
    if (reason || address === null) skipped.push({ id: row.id, reason: reason ?? 'no_address' })
    else if (quietUntil) quiet.set(row.timezone, quietUntil)
    else if (row.pairLimitedUntilMs !== null && row.pairLimitedUntilMs > now.getTime())
      postponed.push({ id: row.id, until: new Date(row.pairLimitedUntilMs) })
    else {
      addresses.add(address)
      picked.push({ id: row.id, contactId: row.contactId, address, params: row.params })
    }
  }
  await skipRecipients(tx, skipped)
  await postponeRecipients(tx, postponed)
  for (const [timezone, until] of quiet) await postponeTimezone(tx, broadcast.id, { timezone, until })
  return { picked, hasMore: rows.length === limit || quiet.size > 0 }
}

/** Skips pending recipients. */
export async function skipRecipients(tx: Scope, skipped: { id: string; reason: SkipReason }[]): Promise<void> {
  if (skipped.length === 0) return
  await tx.sql('skipRecipients')`
    update broadcast_recipients r set status = ${recipientStatusSql('skip')}, skip_reason = x.reason, updated_at = ${tx.now()}
     from jsonb_to_recordset(${toRecordset(skipped)}::jsonb) as x (id uuid, reason text)
     where r.tenant_id = ${tx.tenantId} and r.id = x.id and ${allowsRecipientSql('skip')}`
}

async function postponeRecipients(tx: Scope, postponed: { id: string; until: Date }[]): Promise<void> {
  if (postponed.length === 0) return
  await tx.sql('postponeRecipients')`
    update broadcast_recipients r set due_at = x.until
     from jsonb_to_recordset(${toRecordset(postponed)}::jsonb) as x (id uuid, until timestamptz)
     where r.tenant_id = ${tx.tenantId} and r.id = x.id and r.status = 'pending'`
}

/** Postpones a portion of the pending recipients in a time zone until its quiet hours end. */
async function postponeTimezone(
  tx: Scope,
  broadcastId: string,
  { timezone, until }: { timezone: string | null; until: Date },
): Promise<void> {
  await tx.sql('postponeTimezone')`
    update broadcast_recipients r set due_at = ${until}
     where r.tenant_id = ${tx.tenantId} and r.id in (
       select id from broadcast_recipients where tenant_id = ${tx.tenantId} and broadcast_id = ${broadcastId}
         and status = 'pending' and due_at <= ${tx.now()} and timezone is not distinct from ${timezone}
       order by due_at, id limit ${POSTPONED_MAX})`
}
