import { addMs, SECOND } from '../../../platform/time.ts'
import type { Scope } from '../../../scope/scope.ts'

/** Messages of broadcasts that are queued or being sent on a channel: pausing and canceling act within this many. */
export const IN_FLIGHT_MAX = 128
/** The same while customers are answered, as the work on a batch takes the worker's time, which replies then wait for. */
const ANSWERING_IN_FLIGHT_MAX = 32
/** Customers count as being answered for this long after one was seen. */
const ANSWERING_MS = 2 * SECOND
/** While a customer waits, the next batch waits for this long after the one before, so that broadcasts always go on. */
const YIELD_MS = SECOND / 4
/** Newest items of the mailboxes of which one that is due counts as a reply to come. */
const NEWEST_ITEMS = 16
/** A batch is queued when there are tokens for this many. */
const BATCH_MIN = 64
/** Tokens accumulate for this long, so that a short delay of a worker does not slow a broadcast down. */
const BURST_MS = 300
/** A batch is queued when there are the tokens of this time, so that batches are not tiny. */
const TOKENS_MS = 150

export type Allowance = {
  /** Messages that may be queued now. */
  room: number
  /** Time at which there are enough tokens for a batch, and at which it need not wait for replies any more. */
  refilledAt: Date
  /** Messages for which there is room, whatever the tokens. */
  free: number
  /** Room below which no batch is queued: half of all that is not taken by postponed messages. */
  freeMin: number
  tokens: number
  perSecond: number
  answeringAt: Date | null
}

export type Bucket = { tokens: number; refilledAt: Date; answeringAt: Date | null }

/**
 * Locks the token bucket of a channel until the transaction ends: only its holder advances the broadcasts of the channel.
 * Returns undefined, without waiting, while another worker has it.
 */
export async function lockBucket(tx: Scope, channelId: string): Promise<Bucket | undefined> {
  const [bucket] = await tx.sql<Bucket>('lockBucket')`
    select tokens, refilled_at, answering_at from channel_pacing
    where tenant_id = ${tx.tenantId} and channel_id = ${channelId} for update skip locked`
  if (bucket) return bucket
  // A new bucket is full. If it exists, another worker has it.
  const [created] = await tx.sql<Bucket>('createBucket')`
    insert into channel_pacing (tenant_id, channel_id, tokens, refilled_at)
    values (${tx.tenantId}, ${channelId}, 0, 'epoch')
    on conflict do nothing returning tokens, refilled_at, answering_at`
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
  const [outbox] = await tx.sql<{ count: number; postponed: number; isAnswering: boolean }>('readAllowance')`
    select count(*)::int as count, count(*) filter (where leased_at is null and not_before > ${now})::int as postponed,
      exists (select from outbox where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and priority = 0
        and not_before <= ${now})
      or exists (select from (
        select due_at from mailbox_items where tenant_id = ${tx.tenantId} order by id desc limit ${NEWEST_ITEMS}) newest
        where due_at <= ${now}) as is_answering
    from (
      select leased_at, not_before from outbox
      where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and priority = 1 limit ${IN_FLIGHT_MAX}) rows`
  const answeringAt = outbox?.isAnswering ? now : bucket.answeringAt
  const isAnswering = answeringAt !== null && addMs(answeringAt, ANSWERING_MS) > now
  const { count = 0, postponed = 0 } = outbox ?? {}
  const burst = Math.max(1, (perSecond * BURST_MS) / SECOND)
  const elapsedMs = Math.max(0, now.getTime() - bucket.refilledAt.getTime())
  const tokens = Math.min(burst, bucket.tokens + (elapsedMs * perSecond) / SECOND)
  const max = isAnswering ? Math.min(IN_FLIGHT_MAX, ANSWERING_IN_FLIGHT_MAX + postponed) : IN_FLIGHT_MAX
  const free = Math.max(0, max - count)
  const freeMin = Math.max(1, (max - postponed) / 2)
  const allowance = toAllowance(now, { free, freeMin, tokens, perSecond, answeringAt })
  const continuesAt = addMs(bucket.refilledAt, YIELD_MS)
  if (!outbox?.isAnswering || continuesAt <= now) return allowance
  return { ...allowance, room: 0, refilledAt: continuesAt }
}

function toAllowance(
  now: Date,
  { free, freeMin, tokens, perSecond, answeringAt }: Omit<Allowance, 'room' | 'refilledAt'>,
): Allowance {
  const tokensMin = Math.max(1, Math.min(BATCH_MIN, freeMin, (perSecond * TOKENS_MS) / SECOND))
  const room = free < freeMin || tokens < tokensMin ? 0 : Math.min(free, Math.floor(tokens))
  const waitMs = Math.max(0, Math.ceil(((tokensMin - tokens) * SECOND) / perSecond))
  return { room, refilledAt: addMs(now, waitMs), free, freeMin, tokens, perSecond, answeringAt }
}

/** Takes tokens out of the bucket that the transaction has locked, and returns what may be queued after that. */
export async function takeTokens(
  tx: Scope,
  channelId: string,
  { free, freeMin, tokens, perSecond, answeringAt }: Allowance,
  count: number,
): Promise<Allowance> {
  const now = tx.now()
  await tx.sql('takeTokens')`
    update channel_pacing set tokens = ${tokens - count}, refilled_at = ${now}, answering_at = ${answeringAt}
    where tenant_id = ${tx.tenantId} and channel_id = ${channelId}`
  return toAllowance(now, { free: free - count, freeMin, tokens: tokens - count, perSecond, answeringAt })
}
