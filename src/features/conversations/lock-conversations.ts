import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'

type Whose = { column: 'contact_id' | 'channel_id'; id: string }

/**
 * Locks what goes with a contact or a channel that is about to be deleted. Whoever acts in a conversation holds its lock
 * before that of its contact or channel, and so must whoever deletes.
 */
export async function lockConversations(tx: Scope, { column, id }: Whose): Promise<void> {
  if (!isUuid(id)) return
  // Counted where they are: a channel may have a great many.
  await tx.db.raw(
    `select count(*) from (
       select id from conversations where tenant_id = :tenantId and ${column} = :id order by id for update) held`,
    { tenantId: tx.tenantId, id },
  )
}
