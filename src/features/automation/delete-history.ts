import { isUuid } from '../../platform/ids.ts'
import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { recordCounts } from '../counts/record-counts.ts'

/** Rows per statement, whose time limit is 10 seconds. Each row takes others with it by foreign keys. */
export const DELETION = { portionSize: 10_000 }

type Owner = { column: 'contact_id' | 'channel_id'; id: string }
type Table = 'conversations' | 'runs' | 'messages' | 'message_statuses' | 'channel_webhooks'

/**
 * Deletes the conversations of a contact or channel with their runs and messages, and what else grows with them, in many
 * short statements. The transaction makes them one change: others see everything or nothing of it, also after a crash.
 * The caller holds the locks of the conversations, so none of them gets another row.
 */
export async function deleteHistory(tx: Scope, { column, id }: Owner): Promise<void> {
  if (!isUuid(id)) return
  for (;;) {
    const conversations = await selectRows<{ id: string }>(
      tx.db,
      `select id from conversations where tenant_id = :tenantId and ${column} = :id limit :limit`,
      { tenantId: tx.tenantId, id, limit: DELETION.portionSize },
    )
    if (conversations.length === 0) break
    const ids = conversations.map((conversation) => conversation.id)
    await deletePortions(tx, 'runs', { column: 'conversation_id', ids })
    await deletePortions(tx, 'messages', { column: 'conversation_id', ids })
    const deleted = await deletePortions(tx, 'conversations', { column: 'id', ids })
    await recordCounts(tx, [{ counter: 'conversations', delta: -deleted }])
  }
  const rest: Table[] = column === 'contact_id' ? ['runs'] : ['message_statuses', 'channel_webhooks']
  for (const table of rest) await deletePortions(tx, table, { column, ids: [id] })
}

/** Returns the number of deleted rows. */
async function deletePortions(
  tx: Scope,
  table: Table,
  { column, ids }: { column: 'id' | 'contact_id' | 'channel_id' | 'conversation_id'; ids: string[] },
): Promise<number> {
  const limit = DELETION.portionSize
  let total = 0
  for (let deleted = limit; deleted === limit;) {
    const { rowCount } = await tx.db.raw<{ rowCount: number }>(
      `with portion as (
         select id from ${table} where tenant_id = :tenantId and ${column} = any(:ids) limit :limit)
       delete from ${table} t using portion where t.tenant_id = :tenantId and t.id = portion.id`,
      { tenantId: tx.tenantId, ids, limit },
    )
    deleted = rowCount
    total += rowCount
  }
  return total
}
