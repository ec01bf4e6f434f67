import { toRecordset } from '../../platform/database/sql.ts'
import { groupBy } from '../../platform/group-by.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { DELIVERY_UNKNOWN } from '../outbound/message-status.ts'
import type { MessageEcho } from '../../channels/channel.ts'
import type { EnsuredConversation } from '../conversations/ensure-conversations.ts'

export type NewEcho = { id: string; echo: MessageEcho; conversation: EnsuredConversation }

/** Echoes of one text in a conversation, and the messages in doubt that they may be. */
type Repeated = { echoes: NewEcho[]; doubts: Doubt[] }

type Doubt = { id: string; createdAt: Date; failedAt: Date }

/** The clocks differ, and the provider's times have no milliseconds. */
const TOLERANCE_MS = MINUTE

/**
 * Finds the messages with an unknown delivery that echoes show to be sent: those of the same text, if the provider took the
 * text while they were being sent. Each is found by one echo: members may write the same text themselves.
 */
export async function findEchoedDoubts(tx: Scope, channelId: string, echoes: NewEcho[]): Promise<Map<NewEcho, string>> {
  const byText = groupBy(echoes, ({ echo, conversation }) => JSON.stringify([conversation.conversationId, echo.body]))
  const groups = [...byText.values()].map((repeated): Repeated => ({ echoes: repeated, doubts: [] }))
  const found = new Map<NewEcho, string>()
  if ((await loadDoubts(tx, groups)) === 0) return found
  const known = await listKnownIds(tx, channelId, echoes)
  for (const { echoes: repeated, doubts } of groups) {
    for (const entry of repeated) {
      const { providerMessageId, at } = entry.echo
      const index = known.has(providerMessageId) ? -1 : doubts.findIndex((doubt) => isSentAt(doubt, at))
      const [doubt] = index < 0 ? [] : doubts.splice(index, 1)
      if (doubt) found.set(entry, doubt.id)
    }
  }
  return found
}

/** Adds to each group its oldest messages in doubt, at most as many as there are echoes, and returns the number of all. */
async function loadDoubts(tx: Scope, groups: Repeated[]): Promise<number> {
  const rows = groups.flatMap(({ echoes }, index) => {
    const [one] = echoes
    if (!one) return []
    const times = echoes.map(({ echo }) => echo.at.getTime())
    const first = new Date(Math.min(...times) - TOLERANCE_MS)
    const last = new Date(Math.max(...times) + TOLERANCE_MS)
    const { conversationId } = one.conversation
    return [{ index, conversationId, body: one.echo.body, first, last, count: echoes.length }]
  })
  const doubts = await tx.sql<Doubt & { index: number }>('findEchoedDoubts')`
    select d.index, d.id, d.created_at, d.failed_at from (
      select x.index, x.count, m.id, m.created_at, m.failed_at, row_number() over (partition by x.index order by m.id) as place
      from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x
        (index int, conversation_id uuid, body text, first timestamptz, last timestamptz, count int)
      join messages m on m.tenant_id = ${tx.tenantId} and m.conversation_id = x.conversation_id
        and m.direction = 'outbound' and m.provider_message_id is null and m.body is not distinct from x.body
        and m.status = 'failed' and m.error ->> 'code' = ${DELIVERY_UNKNOWN}
        and m.created_at <= x.last and m.failed_at >= x.first) d
    where d.place <= d.count
    order by d.index, d.id`
  for (const { index, ...doubt } of doubts) groups[index]?.doubts.push(doubt)
  return doubts.length
}

function isSentAt({ createdAt, failedAt }: Doubt, at: Date): boolean {
  return createdAt <= addMs(at, TOLERANCE_MS) && failedAt >= addMs(at, -TOLERANCE_MS)
}

async function listKnownIds(tx: Scope, channelId: string, echoes: NewEcho[]): Promise<Set<string>> {
  const ids = echoes.map(({ echo }) => echo.providerMessageId)
  const rows = await tx.sql<{ id: string }>('findKnownEchoes')`
    select provider_message_id as id from provider_message_ids
    where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and provider_message_id = any(${ids}::text[])`
  return new Set(rows.map(({ id }) => id))
}
