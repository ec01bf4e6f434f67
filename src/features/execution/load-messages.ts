import type { MessageFacts } from '../../engine/model/run.ts'
import type { Scope } from '../../scope.ts'

/** Loads inbound messages as workflows read them. */
export async function loadMessages(tx: Scope, messageIds: string[]): Promise<Map<string, MessageFacts>> {
  if (messageIds.length === 0) return new Map()
  const rows = await tx.sql<{ id: string; body: string | null; type: string; content: unknown; at: Date }>(
    'loadMessages',
  )`
    select id, body, type, content, coalesce(provider_at, created_at) as at
    from messages where tenant_id = ${tx.tenantId} and id = any(${messageIds})`
  return new Map(rows.map(({ at, ...message }) => [message.id, { ...message, at: at.toISOString() }]))
}
