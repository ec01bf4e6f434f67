import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { deleteReceived, deleteRows, deleteRuns, toIds } from './delete-history.ts'
import { MAILBOX_ID_SQL } from './store/mailbox-store.ts'

/** Numbers of deleted rows by table. */
export type DeletedRows = Record<string, number>

export function addRows(rows: DeletedRows, others: DeletedRows): DeletedRows {
  const sum = { ...rows }
  for (const [table, count] of Object.entries(others)) if (count > 0) sum[table] = (sum[table] ?? 0) + count
  return sum
}

/**
 * Deletes the conversations of a contact, the messages that wait to be sent, the files that wait to be fetched, and what its
 * runs wait for: nothing is done for what is left. The caller holds the locks of the conversations and of the contact, so
 * that nothing is added.
 */
export async function deleteConversations(tx: Scope, contactId: string): Promise<DeletedRows> {
  const { tenantId } = tx
  const rows = await tx.sql<{ id: string }>('listConversationsToDelete')`
    select id from conversations where tenant_id = ${tenantId} and contact_id = ${contactId}`
  const ids = toIds(rows)
  const active = sqlFragment`select id from runs where tenant_id = ${tenantId}
    and ${MAILBOX_ID_SQL} = any(${[...ids, contactId]}) and status in ('queued', 'running', 'waiting')`
  await tx.sql('deleteCalls')`delete from external_calls where tenant_id = ${tenantId} and run_id in (${active})`
  await tx.sql('deleteWaits')`delete from run_waits where tenant_id = ${tenantId} and run_id in (${active})`
  await tx.sql('deletePendingMedia')`
    delete from message_media where tenant_id = ${tenantId} and due_at is not null and message_id in (
      select id from messages where tenant_id = ${tenantId} and contact_id = ${contactId})`
  let messages = 0
  for (let isDone = false; !isDone;) {
    const unsent = await tx.sql<{ id: string }>('listUnsent')`
      select message_id as id from outbox
      where tenant_id = ${tenantId} and conversation_id = any(${ids}) limit ${tx.portions.history}`
    if (unsent.length > 0) await deleteReceived(tx, toIds(unsent))
    messages += unsent.length
    isDone = unsent.length < tx.portions.history
  }
  if (ids.length > 0) await deleteRows(tx, 'conversations', ids)
  return { conversations: ids.length, messages }
}

/**
 * Deletes a portion of what a contact may have a great many of: its runs with their steps, its messages, and the data of its
 * events. `isDone` is false if more may be left.
 */
export async function deletePortion(tx: Scope, contactId: string): Promise<{ deleted: DeletedRows; isDone: boolean }> {
  const { tenantId, portions } = tx
  const limit = portions.historyStep
  const runIds = await listRuns(tx, contactId)
  const steps = await tx.sql('deleteSteps')`
    delete from run_steps where tenant_id = ${tenantId} and run_id = any(${runIds}) returning 1`
  // Messages name their run, and would be written twice if they were deleted after it. Those to other contacts stay.
  const ofRuns = await tx.sql<{ id: string }>('listMessagesOfRuns')`
    select id from messages where tenant_id = ${tenantId} and run_id = any(${runIds}) and contact_id = ${contactId}
    limit ${limit}`
  const others = await tx.sql<{ id: string }>('listMessagesOfContact')`
    select id from messages where tenant_id = ${tenantId} and contact_id = ${contactId} and id <> all(${toIds(ofRuns)})
    limit ${limit - ofRuns.length}`
  const messageIds = toIds([...ofRuns, ...others])
  if (messageIds.length > 0) await deleteReceived(tx, messageIds)
  const deletesRuns = runIds.length > 0 && ofRuns.length < limit
  if (deletesRuns) await deleteRuns(tx, runIds)
  const payloads = await tx.sql('deletePayloads')`
    delete from event_payloads where tenant_id = ${tenantId} and event_id = any(array(
      select event_id from event_payloads where tenant_id = ${tenantId} and contact_id = ${contactId} limit ${limit}))
    returning 1`
  const deleted = {
    run_steps: steps.length,
    runs: deletesRuns ? runIds.length : 0,
    messages: messageIds.length,
    event_payloads: payloads.length,
  }
  const [left] = await tx.sql<{ hasRows: boolean }>('findRowsOfContact')`
    select exists (select from runs where tenant_id = ${tenantId} and contact_id = ${contactId})
      or exists (select from messages where tenant_id = ${tenantId} and contact_id = ${contactId})
      or exists (select from event_payloads where tenant_id = ${tenantId} and contact_id = ${contactId}) as has_rows`
  return { deleted, isDone: left?.hasRows === false }
}

/** Lists a portion of runs with a portion of steps at most, but for a single run with more. */
async function listRuns(tx: Scope, contactId: string): Promise<string[]> {
  const rows = await tx.sql<{ id: string }>('listRunsOfContact')`
    select id from (
      select id, sum(steps_count) over (order by id) - steps_count as steps_before from (
        select id, steps_count from runs
        where tenant_id = ${tx.tenantId} and contact_id = ${contactId} limit ${tx.portions.historyStep}) portion) counted
    where steps_before < ${tx.portions.history}`
  return toIds(rows)
}
