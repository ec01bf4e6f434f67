import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { keepDeletedIds } from './deleted-message-ids.ts'

const TABLES = {
  conversations: sqlFragment`conversations`,
  runs: sqlFragment`runs`,
  messages: sqlFragment`messages`,
  message_statuses: sqlFragment`message_statuses`,
  channel_webhooks: sqlFragment`channel_webhooks`,
}
const COLUMNS = {
  channel_id: sqlFragment`channel_id`,
  conversation_id: sqlFragment`conversation_id`,
}
type Rows = { table: keyof typeof TABLES; column: keyof typeof COLUMNS; ids: string[] }

/**
 * Deletes the conversations of a channel with their runs and messages, and what else grows with them, in many short
 * statements. The transaction makes them one change: others see everything or nothing of it, also after a crash. The caller
 * holds the locks of the conversations, so none of them gets another row.
 */
export async function deleteHistory(tx: Scope, channelId: string): Promise<void> {
  if (!isUuid(channelId)) return
  const column = 'channel_id'
  for (;;) {
    const ids = await listPortion(tx, { table: 'conversations', column, ids: [channelId] })
    if (ids.length === 0) break
    // Steps name messages, and messages name runs.
    await deleteSteps(tx, ids)
    // Nothing arrives on a channel that is deleted.
    await deletePortions(tx, { table: 'messages', column: 'conversation_id', ids }, deleteMessages)
    await deletePortions(tx, { table: 'runs', column: 'conversation_id', ids }, deleteRuns)
    await deleteRows(tx, 'conversations', ids)
  }
  await deleteLeftMessages(tx, channelId)
  await deletePortions(tx, { table: 'message_statuses', column, ids: [channelId] })
  await deletePortions(tx, { table: 'channel_webhooks', column, ids: [channelId] })
}

/** Deletes the messages of deleted contacts that are not purged yet. Their conversations are gone. */
async function deleteLeftMessages(tx: Scope, channelId: string): Promise<void> {
  for (;;) {
    const rows = await tx.sql<{ id: string }>('listLeftMessages')`
      select id from messages where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and contact_id = any(array(
        select contact_id from contact_purges where tenant_id = ${tx.tenantId})) limit ${tx.portions.history}`
    if (rows.length === 0) return
    await deleteMessages(tx, toIds(rows))
  }
}

async function deletePortions(
  tx: Scope,
  rows: Rows,
  deletePortion = (scope: Scope, ids: string[]) => deleteRows(scope, rows.table, ids),
): Promise<void> {
  for (;;) {
    const ids = await listPortion(tx, rows)
    if (ids.length > 0) await deletePortion(tx, ids)
    if (ids.length < tx.portions.history) return
  }
}

async function listPortion(tx: Scope, { table, column, ids }: Rows): Promise<string[]> {
  const rows = await tx.sql<{ id: string }>('listPortion')`
    select id from ${TABLES[table]}
    where tenant_id = ${tx.tenantId} and ${COLUMNS[column]} = any(${ids}) limit ${tx.portions.history}`
  return toIds(rows)
}

export function toIds(rows: readonly { id: string }[]): string[] {
  return rows.map(({ id }) => id)
}

export async function deleteRows(tx: Scope, table: Rows['table'], ids: string[]): Promise<void> {
  await tx.sql('deleteRows')`delete from ${TABLES[table]} where tenant_id = ${tx.tenantId} and id = any(${ids})`
}

async function deleteSteps(tx: Scope, conversationIds: string[]): Promise<void> {
  for (let last: string | null = null, isDone = false; !isDone;) {
    const runs: { id: string }[] = await tx.sql<{ id: string }>('listRunsToDelete')`
    select id from runs
      where tenant_id = ${tx.tenantId} and conversation_id = any(${conversationIds}) and (${last}::uuid is null or id > ${last})
      order by id limit ${tx.portions.history}`
    const ids = runs.map(({ id }) => id)
    await tx.sql('deleteSteps')`delete from run_steps where tenant_id = ${tx.tenantId} and run_id = any(${ids})`
    last = ids.at(-1) ?? null
    isDone = ids.length < tx.portions.history
  }
}

/** Deletes runs. Other rows that name a run stay without it. */
export async function deleteRuns(tx: Scope, ids: string[]): Promise<void> {
  await tx.sql('leaveRun')`
    update messages set run_id = null where tenant_id = ${tx.tenantId} and run_id = any(${ids})`
  await tx.sql('leaveParentRun')`
    update runs set parent_run_id = null
    where tenant_id = ${tx.tenantId} and parent_run_id = any(${ids}) and id <> all(${ids})`
  await tx.sql('leaveReplayedRun')`
    update runs set replay_of = null where tenant_id = ${tx.tenantId} and replay_of = any(${ids}) and id <> all(${ids})`
  await tx.sql('leaveSourceRun')`
    update workflow_tests set source_run_id = null where tenant_id = ${tx.tenantId} and source_run_id = any(${ids})`
  await deleteRows(tx, 'runs', ids)
}

/** Deletes messages that their provider may repeat. */
export async function deleteReceived(tx: Scope, ids: string[]): Promise<void> {
  await keepDeletedIds(tx, ids)
  await deleteMessages(tx, ids)
}

/** Deletes messages. Steps that sent one and messages that answer one stay without it. */
export async function deleteMessages(tx: Scope, ids: string[]): Promise<void> {
  await tx.sql('leaveSentMessage')`
    update run_steps set message_id = null where tenant_id = ${tx.tenantId} and message_id = any(${ids})`
  await tx.sql('leaveAnsweredMessage')`
    update messages set reply_to_id = null
    where tenant_id = ${tx.tenantId} and reply_to_id = any(${ids}) and id <> all(${ids})`
  await deleteRows(tx, 'messages', ids)
}
