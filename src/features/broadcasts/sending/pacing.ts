import { selectRows } from '../../../platform/database/sql.ts'
import { addMs, SECOND } from '../../../platform/time.ts'
import type { Scope } from '../../../scope.ts'

/** Messages of broadcasts that are queued or being sent on a channel: pausing and canceling act within this many. */
export const IN_FLIGHT_MAX = 128
/** A batch is queued when there is room for this many, so that batches are not tiny. */
const ROOM_MIN = 32
/** Tokens accumulate for this long, so that a short delay of a worker does not slow a broadcast down. */
const BURST_MS = 300

export type Allowance = {
  /** Messages that may be queued now. */
  room: number
  tokens: number
  /** Time of the next token if there is none. */
  refilledAt: Date
}

/**
 * Locks the token bucket of a channel, which all workers share, and returns how many messages may be queued. The bucket
 * gains `perSecond` tokens a second.
 */
export async function lockAllowance(tx: Scope, channelId: string, perSecond: number): Promise<Allowance> {
  const now = tx.now()
  const burst = Math.max(1, (perSecond * BURST_MS) / SECOND)
  const bindings = { tenantId: tx.tenantId, channelId, now, burst }
  await tx.db.raw(
    `insert into channel_pacing (tenant_id, channel_id, tokens, refilled_at)
     values (:tenantId, :channelId, :burst, :now) on conflict do nothing`,
    bindings,
  )
  const [bucket] = await selectRows<{ tokens: number; refilledAt: Date }>(
    tx.db,
    'select tokens, refilled_at from channel_pacing where tenant_id = :tenantId and channel_id = :channelId for update',
    bindings,
  )
  const [outbox] = await selectRows<{ count: number }>(
    tx.db,
    `select count(*)::int as count from (
       select from outbox where tenant_id = :tenantId and channel_id = :channelId and priority = 1 limit :max) rows`,
    { ...bindings, max: IN_FLIGHT_MAX },
  )
  const elapsedMs = Math.max(0, now.getTime() - (bucket?.refilledAt.getTime() ?? now.getTime()))
  const tokens = Math.min(burst, (bucket?.tokens ?? burst) + (elapsedMs * perSecond) / SECOND)
  const free = IN_FLIGHT_MAX - (outbox?.count ?? 0)
  const room = free < ROOM_MIN ? 0 : Math.min(free, Math.floor(tokens))
  const waitMs = tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * SECOND) / perSecond)
  return { room, tokens, refilledAt: addMs(now, waitMs) }
}

/** Takes tokens out of the bucket that the transaction has locked. */
export async function takeTokens(tx: Scope, channelId: string, { tokens }: Allowance, count: number): Promise<void> {
  await tx.db.raw('update channel_pacing set tokens = ?, refilled_at = ? where tenant_id = ? and channel_id = ?', [
    tokens - count,
    tx.now(),
    tx.tenantId,
    channelId,
  ])
}
