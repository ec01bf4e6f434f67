import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { allowsRecipientSql, recipientStatusSql } from '../broadcast-recipients/recipient-status.ts'
import { pauseLocked } from '../broadcasts/sending/withdraw-recipients.ts'
import { changeStatus } from '../broadcasts/transitions.ts'
import { IS_RUNNING } from './count-unsettled.ts'
import { RESTORED_ERROR } from './doubt-messages.ts'

const PORTION = 1000

/**
 * Makes the due recipients of running broadcasts `unknown`, in portions that commit one by one. A broadcast whose recipients
 * are being listed is paused, and a scheduled one whose time has come is a draft again: a member decides whom it is sent to.
 */
export async function doubtBroadcasts(system: SystemScope): Promise<void> {
  const running = await system.acrossTenants<{ tenantId: string; id: string }>('listRunningBroadcasts')`
    select b.tenant_id, b.id from broadcasts b
    where ${IS_RUNNING} or b.status = 'scheduled' and b.scheduled_at <= ${system.now()}`
  for (const { tenantId, id } of running) {
    const scope = system.forTenant(tenantId)
    for (let doubted = PORTION; doubted === PORTION;) doubted = await scope.transaction((tx) => doubtRecipients(tx, id))
    await scope.transaction((tx) => stop(tx, id))
  }
}

async function doubtRecipients(tx: Scope, broadcastId: string): Promise<number> {
  const now = tx.now()
  const [row] = await tx.sql<{ count: number }>('doubtRecipients')`
    with due as (
       select id from broadcast_recipients
       where tenant_id = ${tx.tenantId} and broadcast_id = ${broadcastId} and status = 'pending' and due_at <= ${now}
       order by id limit ${PORTION} for no key update),
     changed as (
       update broadcast_recipients r set status = ${recipientStatusSql('doubt')}, error = ${JSON.stringify(RESTORED_ERROR)}::jsonb,
         doubted_at = coalesce(r.doubted_at, ${now}), doubt_settled_at = null, doubt_settled_by = null, updated_at = ${now}
       from due where r.tenant_id = ${tx.tenantId} and r.id = due.id and ${allowsRecipientSql('doubt')}
       returning r.id)
     select count(*)::int as count from changed`
  return row?.count ?? 0
}

/** A broadcast that only sends goes on with those whose time has not come. */
async function stop(tx: Scope, broadcastId: string): Promise<void> {
  const broadcast = await tx.query(BroadcastRow).findOne('id', broadcastId).forUpdate()
  if (broadcast?.status === 'preparing') await pauseLocked(tx, broadcast, 'restored')
  if (broadcast?.status === 'scheduled')
    await changeStatus(tx, broadcast, 'unschedule', { scheduledAt: null, workAt: null })
}
