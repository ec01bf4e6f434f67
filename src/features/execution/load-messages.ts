import type { MessageFacts } from '../../engine/model/run.ts'
import type { Scope } from '../../scope.ts'

/** Loads inbound messages as workflows read them. */
export async function loadMessages(tx: Scope, messageIds: string[]): Promise<Map<string, MessageFacts>> {
  if (messageIds.length === 0) return new Map()
  const rows = await tx
    .db('messages')
    .where('tenant_id', tx.tenantId)
    .whereRaw('id = any(?)', [messageIds])
    .select<
      { id: string; body: string | null; type: string; content: unknown; provider_at: Date | null; created_at: Date }[]
    >('id', 'body', 'type', 'content', 'provider_at', 'created_at')
  return new Map(
    rows.map(({ id, body, type, content, provider_at, created_at }) => [
      id,
      { id, body, type, content, at: (provider_at ?? created_at).toISOString() },
    ]),
  )
}
