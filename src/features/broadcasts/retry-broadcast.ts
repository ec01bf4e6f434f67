import { BroadcastRecipient as RecipientRow } from '../../models/broadcasts.ts'
import { NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { broadcastJob } from '../automation/jobs.ts'
import { takeChannelAlerts } from '../broadcast-recipients/channel-alerts.ts'
import { allowsRecipientSql, recipientStatusSql } from '../broadcast-recipients/recipient-status.ts'
import { readCounts } from './counts.ts'
import { getBroadcast } from './queries.ts'
import type { Broadcast, RetryBroadcast } from './schema.ts'
import { changeStatus, lockForTransition } from './transitions.ts'

/**
 * Sends the broadcast again to recipients of whom the provider accepted no message: those who failed, and those in doubt
 * whom the caller names. All others are left out.
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`, UnprocessableError `nothing_to_retry`
 */
export function retryBroadcast(scope: Scope, input: RetryBroadcast): Promise<Broadcast> {
  const { broadcastId } = input
  return scope.transaction(async (tx) => {
    if (isUuid(broadcastId)) await assertRecipients(tx, input)
    const broadcast = await lockForTransition(tx, broadcastId, 'retry')
    if ((await makePending(tx, input)) === 0) {
      throw new UnprocessableError(
        'nothing_to_retry',
        'No recipient can be retried. Those who failed can, unless the provider had accepted the message',
      )
    }
    await takeChannelAlerts(tx, broadcast.channelId)
    await changeStatus(tx, broadcast, 'retry', {
      completedAt: null,
      workAt: tx.now(),
      resumedCounts: await readCounts(tx, broadcastId),
    })
    tx.enqueue(broadcastJob(tx.tenantId, broadcast.channelId))
    return getBroadcast(tx, { broadcastId })
  })
}

async function assertRecipients(
  tx: Scope,
  { broadcastId, recipientIds = [], notAcceptedRecipientIds = [] }: RetryBroadcast,
): Promise<void> {
  const ids = [...new Set([...recipientIds, ...notAcceptedRecipientIds].map((id) => id.toLowerCase()))]
  if (ids.length === 0) return
  const found = ids.every(isUuid)
    ? await tx.query(RecipientRow).where('broadcastId', broadcastId).whereIn('id', ids).resultSize()
    : 0
  if (found !== ids.length) throw new NotFoundError('Recipient')
}

async function makePending(
  tx: Scope,
  { broadcastId, recipientIds, notAcceptedRecipientIds = [] }: RetryBroadcast,
): Promise<number> {
  const now = tx.now()
  const [row] = await tx.sql<{ count: number }>('retryRecipients')`
    with locked as (
       select r.id, r.status as previous from broadcast_recipients r
       where r.tenant_id = ${tx.tenantId} and broadcast_id = ${broadcastId} and provider_message_id is null
         and accepted_count = 0 and address is not null and (
           ${allowsRecipientSql('retry')} and (${recipientIds === undefined} or id = any(${recipientIds ?? []}))
           or ${allowsRecipientSql('retryDoubted')} and id = any(${notAcceptedRecipientIds}))
       order by id for no key update),
     changed as (
       update broadcast_recipients r set status = ${recipientStatusSql('retry')}, message_id = null, due_at = ${now}, updated_at = ${now},
         doubt_settled_at = case when previous = 'unknown' then ${now} else r.doubt_settled_at end,
         doubt_settled_by = case when previous = 'unknown' then 'member' else r.doubt_settled_by end
       from locked where r.tenant_id = ${tx.tenantId} and r.id = locked.id and r.status = locked.previous
       returning r.id)
     select count(*)::int as count from changed`
  return row?.count ?? 0
}
