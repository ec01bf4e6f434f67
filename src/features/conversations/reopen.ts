import type { Conversation as ConversationRow } from '../../models/messaging.ts'

type ReopenColumns = Pick<ConversationRow, 'status' | 'snoozedUntil' | 'closedAt' | 'reopenCount'>

/**
 * Columns that make a conversation active. Only one that was closed counts as reopened; a snoozed one is merely woken.
 * A message of either side and a change of the status to `active` do this.
 */
export function reopenColumns({ status, reopenCount }: ReopenColumns): ReopenColumns {
  return {
    status: 'active',
    snoozedUntil: null,
    closedAt: null,
    reopenCount: reopenCount + (status === 'closed' ? 1 : 0),
  }
}

/** SQL form of `reopenColumns`: assignments on `conversations`. */
export const REOPEN_SQL = `status = 'active', snoozed_until = null, closed_at = null,
  reopen_count = reopen_count + (status = 'closed')::int`
