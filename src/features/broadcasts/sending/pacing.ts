import { addMs, SECOND } from '../../../platform/time.ts'
import type { Scope } from '../../../scope.ts'

/** Messages of broadcasts that are queued or being sent on a channel: pausing and canceling act within this many. */
export const IN_FLIGHT_MAX = 128
/** A batch is queued when there is room for this many, or half of all that is not taken by postponed messages. */
const ROOM_MIN = 64
/** Tokens accumulate for this long, so that a short delay of a worker does not slow a broadcast down. */
const BURST_MS = 300
/** A batch is queued when there are the tokens of this time, so that batches are not tiny. */
const TOKENS_MS = 150

export type Allowance = {
  /** Messages that may be queued now. */
  room: number
  /** Time at which there are enough tokens for a batch. */
  refilledAt: Date
  /** Messages for which there is room, whatever the tokens. */
  free: number
  /** Room below which no batch is queued. */
  freeMin: number
  tokens: number
  perSecond: number
}

export type Bucket = { tokens: number; refilledAt: Date }

/**
 * Locks the token bucket of a channel until the transaction ends: only its holder advances the broadcasts of the channel.
 * Returns undefined, without waiting, while another worker has it.
 */
export async function lockBucket(tx: Scope, channelId: string): Promise<Bucket | undefined> {
  const [bucket] = await tx.sql<Bucket>('lockBucket')`
    select tokens, refilled_at from channel_pacing where tenant_id = ${tx.tenantId} and channel_id = ${channelId}
     for update skip locked`
  if (bucket) return bucket
  // A new bucket is full. If it exists, another worker has it.
  const [created] = await tx.sql<Bucket>('createBucket')`
    insert into channel_pacing (tenant_id, channel_id, tokens, refilled_at)
     values (${tx.tenantId}, ${channelId}, 0, 'epoch')
     on conflict do nothing returning tokens, refilled_at`
  return created
}

/** Returns how many messages may be queued on a channel whose bucket is locked. It gains `perSecond` tokens a second. */
export async function readAllowance(
  tx: Scope,
  channelId: string,
  bucket: Bucket,
  perSecond: number,
): Promise<Allowance> {
  const now = tx.now()
  const [outbox] = await tx.sql<{ count: number; postponed: number }>('readAllowance')`
    select count(*)::int as count, count(*) filter (where leased_at is null and not_before > ${now})::int as postponed
     from (
       select leased_at, not_before from outbox
       where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and priority = 1 limit ${IN_FLIGHT_MAX}) rows`
  const burst = Math.max(1, (perSecond * BURST_MS) / SECOND)
  const elapsedMs = Math.max(0, now.getTime() - bucket.refilledAt.getTime())
  const tokens = Math.min(burst, bucket.tokens + (elapsedMs * perSecond) / SECOND)
  const free = IN_FLIGHT_MAX - (outbox?.count ?? 0)
  const freeMin = Math.max(1, Math.min(ROOM_MIN, (IN_FLIGHT_MAX - (outbox?.postponed ?? 0)) / 2))
  return toAllowance(now, { free, freeMin, tokens, perSecond })
}

function toAllowance(
  now: Date,
  { free, freeMin, tokens, perSecond }: Pick<Allowance, 'free' | 'freeMin' | 'tokens' | 'perSecond'>,
): Allowance {
  const tokensMin = Math.max(1, Math.min(ROOM_MIN, (perSecond * TOKENS_MS) / SECOND))
  const room = free < freeMin || tokens < tokensMin ? 0 : Math.min(free, Math.floor(tokens))
  const waitMs = Math.max(0, Math.ceil(((tokensMin - tokens) * SECOND) / perSecond))
  return { room, refilledAt: addMs(now, waitMs), free, freeMin, tokens, perSecond }
}

/** Takes tokens out of the bucket that the transaction has locked, and returns what may be queued after that. */
export async function takeTokens(
  tx: Scope,
  channelId: string,
  { free, freeMin, tokens, perSecond }: Allowance,
  count: number,
): Promise<Allowance> {
  const now = tx.now()
  await tx.sql('takeTokens')`
    update channel_pacing set tokens = ${tokens - count}, refilled_at = ${now}
    where tenant_id = ${tx.tenantId} and channel_id = ${channelId}`
  return toAllowance(now, { free: free - count, freeMin, tokens: tokens - count, perSecond })
}
