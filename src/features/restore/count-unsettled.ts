import { sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

/**
 * Conditions on what another timeline of the database may have sent, which went on where a restored one ends. Messages on
 * the sandbox leave no process.
 */
export const MAY_BE_SENT = sqlFragment`ch.kind <> 'sandbox'`

/** Condition that workers queue messages for the broadcast `b` without a member. */
export const IS_RUNNING = sqlFragment`b.status in ('preparing', 'sending')`

/** Numbers of what may have been sent, of all workspaces. */
export type Unsettled = {
  /** Queued messages, and those that were being sent. */
  messages: number
  /** Scheduled messages whose time has come. */
  scheduledMessages: number
  /** Recipients of running broadcasts for whom no message is queued. */
  recipients: number
  /** Broadcasts whose recipients are being listed, and scheduled ones whose time has come. */
  broadcasts: number
}

/**
 * Counts what may have been sent after the point to which the database was restored. Nothing of deleted workspaces is sent,
 * and workers purge it.
 */
export async function countUnsettled(system: SystemScope): Promise<Unsettled> {
  const now = system.now()
  const [row] = await system.acrossTenants<Unsettled>('countUnsettled')`
    select (
        select count(*) from outbox o join channels ch on ch.tenant_id = o.tenant_id and ch.id = o.channel_id
        where ${MAY_BE_SENT} and ${isOpenSql(sqlText('o.tenant_id'))})::float8 as messages,
      (select count(*) from messages m where release_at <= ${now} and ${isOpenSql(sqlText('m.tenant_id'))})::float8 as scheduled_messages,
      (select count(*) from broadcasts b
        join broadcast_recipients r on r.tenant_id = b.tenant_id and r.broadcast_id = b.id
        where ${IS_RUNNING} and r.status = 'pending' and r.due_at <= ${now} and ${isOpenSql(sqlText('b.tenant_id'))})::float8 as recipients,
      (select count(*) from broadcasts b
        where (status = 'preparing' or status = 'scheduled' and scheduled_at <= ${now}) and ${isOpenSql(sqlText('b.tenant_id'))})::float8 as broadcasts`
  return row ?? { messages: 0, scheduledMessages: 0, recipients: 0, broadcasts: 0 }
}

export function hasUnsettled(unsettled: Unsettled): boolean {
  return Object.values(unsettled).some((count) => count > 0)
}
