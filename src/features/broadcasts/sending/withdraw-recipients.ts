import { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import type { Scope } from '../../../scope/scope.ts'
import { allowsSql, messageEvent, type MessageRef, statusSql } from '../../outbound/message-status.ts'
import { uncountForPairs } from '../../outbound/queue-messages.ts'
import { sqlText } from '../../../platform/database/statements/statement.ts'
import { allowsRecipientSql, recipientStatusSql } from '../../broadcast-recipients/recipient-status.ts'
import type { PauseReason } from '../../broadcast-recipients/channel-alerts.ts'
import { changeStatus } from '../transitions.ts'

const PORTION = 5000

type Withdrawn = MessageRef & { queuedAt: Date; wasTried: boolean }

/**
 * Cancels the messages of a locked broadcast that no worker has claimed. Their recipients are pending again, if the
 * provider was never called for them, or canceled.
 */
export async function withdrawQueued(
  tx: Scope,
  { id: broadcastId }: Pick<BroadcastRow, 'id'>,
  change: 'withdraw' | 'withdrawFinally',
): Promise<void> {
  const isFinal = change === 'withdrawFinally'
  const now = tx.now()
  const canceled = await tx.sql<Withdrawn>('withdrawQueued')`
    with locked as (
       select m.id, m.conversation_id, r.id as recipient_id from broadcast_recipients r
       join messages m on m.tenant_id = ${tx.tenantId} and m.id = r.message_id
       where r.tenant_id = ${tx.tenantId} and r.broadcast_id = ${broadcastId} and ${allowsRecipientSql(change)} and ${sqlText(allowsSql('cancel'))}
       order by m.id for no key update of m),
     removed as (
       delete from outbox o using locked
       where o.tenant_id = ${tx.tenantId} and o.conversation_id = locked.conversation_id and o.message_id = locked.id
         and o.leased_at is null and (${isFinal} or o.attempts = 0)
       returning o.message_id, o.attempts > 0 as was_tried, locked.recipient_id),
     canceled as (
       update messages m set ${sqlText(statusSql('cancel'))}, updated_at = ${now} from removed
       where m.tenant_id = ${tx.tenantId} and m.id = removed.message_id and ${sqlText(allowsSql('cancel'))}
       returning m.id as message_id, m.conversation_id, m.contact_id, m.recipient_id, m.created_at as queued_at, removed.was_tried),
     changed as (
       update broadcast_recipients r set status = ${recipientStatusSql(change)}, updated_at = ${now},
         message_id = case when ${isFinal} then r.message_id end, attempt = r.attempt - (not ${isFinal})::int
       from canceled where r.tenant_id = ${tx.tenantId} and r.id = canceled.recipient_id and ${allowsRecipientSql(change)})
     select * from canceled`
  await uncountForPairs(
    tx,
    canceled.filter(({ wasTried }) => !wasTried),
  )
  await tx.record(...canceled.map((message) => messageEvent('message.canceled', message)))
}

/** Pauses a locked broadcast. Its messages that no worker has claimed are withdrawn; their recipients are pending again. */
export async function pauseLocked(tx: Scope, broadcast: BroadcastRow, reason: PauseReason): Promise<void> {
  await withdrawQueued(tx, broadcast, 'withdraw')
  await changeStatus(tx, broadcast, 'pause', { statusReason: reason, workAt: null })
}

/** Cancels a portion of the pending recipients of a canceled broadcast that is locked. Returns true if there may be more. */
export async function cancelPending(tx: Scope, { id: broadcastId }: Pick<BroadcastRow, 'id'>): Promise<boolean> {
  const [row] = await tx.sql<{ count: number }>('cancelPending')`
    with changed as (
       update broadcast_recipients r set status = ${recipientStatusSql('cancel')}, updated_at = ${tx.now()}
       where r.tenant_id = ${tx.tenantId} and ${allowsRecipientSql('cancel')} and r.id in (
         select id from broadcast_recipients where tenant_id = ${tx.tenantId} and broadcast_id = ${broadcastId}
           and status = 'pending' order by due_at, id limit ${PORTION})
       returning r.id)
     select count(*)::int as count from changed`
  if (row?.count === PORTION) return true
  await tx.query(BroadcastRow).findOne('id', broadcastId).patch({ workAt: null })
  return false
}
