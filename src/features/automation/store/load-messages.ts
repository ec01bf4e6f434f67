import type { MessageFacts } from '../../../engine/model/run.ts'
import type { FactsOf } from '../../../triggers/facts.ts'
import { sqlFragment } from '../../../platform/database/statements/statement.ts'
import type { StoreTransaction } from './store-transaction.ts'

/** A message `m` as `MESSAGE_COLUMNS` select it. */
export type MessageColumns = { body: string | null; type: string; content: unknown; at: Date }

export const MESSAGE_COLUMNS = sqlFragment`m.body, m.type, m.content, coalesce(m.provider_at, m.created_at) as at`

/** Converts a row to the message as workflows read it. */
export function toMessageFacts(id: string, { body, type, content, at }: MessageColumns): MessageFacts {
  return { id, body, type, content, at: at.toISOString() } satisfies FactsOf<'message'>
}

/** Loads inbound messages as workflows read them. */
export async function loadMessages(tx: StoreTransaction, messageIds: string[]): Promise<Map<string, MessageFacts>> {
  if (messageIds.length === 0) return new Map()
  const rows = await tx.sql<MessageColumns & { id: string }>('loadMessages')`
    select m.id, ${MESSAGE_COLUMNS} from messages m where m.tenant_id = ${tx.tenantId} and m.id = any(${messageIds})`
  return new Map(rows.map((row) => [row.id, toMessageFacts(row.id, row)]))
}
