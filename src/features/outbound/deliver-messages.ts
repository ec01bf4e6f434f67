import { setTimeout as delay } from 'node:timers/promises'
import type { SendResult } from '../../channels/channel.ts'
import { retry } from '../../platform/concurrency/retry.ts'
import { isTransient } from '../../platform/database/database.ts'
import { splitOnFailure } from '../../platform/database/split-on-failure.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { withSpan } from '../../platform/tracing/span.ts'
import type { Job, JobControl } from '../../platform/jobs/job-queue.ts'
import { count, metrics, observe, observeSince } from '../../platform/metrics.ts'
import { addMs, MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { deliverJob } from '../automation/jobs.ts'
import { loadCachedChannel, type LoadedChannel } from '../channels/load-channel.ts'
import { CLAIM_MS, claimMessages, type ClaimedMessage, type Delivery } from './claim-messages.ts'
import { claimInTransaction, commitClaim } from './commit-claim.ts'
import { findRefusal } from './refusals.ts'
import { settleMessages, type DeliveryOutcome } from './settle-messages.ts'
import { attachEarlyStatuses, isEarlySql } from './statuses/attach-early-statuses.ts'
import { FileUploads } from './upload-files.ts'

/** Messages per claim. A crash leaves the delivery of all messages that its process has claimed unknown. */
export const CLAIM_MAX = 64
/** Claims of a job, which then lets others have its place. */
const BATCHES_MAX = 64
/** A claim is few statements, and most claims find few messages. */
const CLAIM_SIZE = 1
/** With the delays between them, enough for as long as a claim lasts. */
const SETTLE_ATTEMPTS_MAX = 30
/** Longer than most sends take, so that a batch is normally settled as a whole. */
const SETTLE_EVERY_MS = SECOND / 2

/**
 * Sends a channel's messages: claims, sends and settles batches until nothing is due, or enqueues itself again after 64 of
 * them. The place of the job is released when the messages are claimed and wait for the provider. The claim is committed
 * before the provider is called and the outcome after. Concurrent runs are safe: a message is claimed once, and one whose
 * outcome was lost is never sent again.
 */
export async function deliverMessages(
  system: SystemScope,
  { tenantId, key: channelId }: Pick<Job, 'tenantId' | 'key'>,
  control: JobControl = {},
): Promise<void> {
  const scope = system.forTenant(tenantId)
  let channel = await findConnected(scope, channelId)
  for (let batches = 1; channel && (await deliverBatch(scope, channel, control)); batches += 1) {
    // After the signal, what is due is left to another process.
    if (batches === BATCHES_MAX || control.signal?.aborted) return scope.enqueue(deliverJob(tenantId, channelId))
    // Somebody may disconnect the channel or replace its access token before all of its messages are sent.
    if (channel.kind !== 'sandbox') channel = await findConnected(scope, channelId)
  }
}

async function findConnected(scope: Scope, channelId: string): Promise<LoadedChannel | undefined> {
  try {
    const channel = await loadCachedChannel(scope, channelId)
    return channel.status === 'disconnected' ? undefined : channel
  } catch (error) {
    // The channel was deleted with its messages after the job was enqueued.
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}

/** Returns true if more messages may be due. */
async function deliverBatch(scope: Scope, channel: LoadedChannel, { signal, release }: JobControl): Promise<boolean> {
  if (channel.kind === 'sandbox') {
    // Nothing leaves the process, so no delivery can be unknown: one transaction is enough.
    const claimed = await scope.transaction(
      async (tx) => {
        const claimed = await claimMessages(tx, { channelId: channel.id, limit: CLAIM_MAX })
        const sends = claimed.map((message) => send(scope, channel, { message, sender: channel.adapter }))
        await settleMessages(tx, channel, await Promise.all(sends))
        return claimed
      },
      { size: CLAIM_SIZE },
    )
    return claimed.length > 0 && lookAfterSends(scope, channel.id, { claimed, providerMessageIds: [] })
  }
  const claimedUntil = addMs(scope.now(), CLAIM_MS)
  const { claimed } = await commitClaim(
    scope,
    async (tx) => {
      // The process may have begun to stop while this waited for its transaction.
      if (signal?.aborted) return { claimed: [], transactionId: undefined }
      return claimInTransaction(tx, { channelId: channel.id, limit: CLAIM_MAX })
    },
    { size: CLAIM_SIZE },
  )
  if (claimed.length === 0) return signal?.aborted ?? false
  release?.()
  return deliverClaimed(scope, channel, { claimed, claimedUntil, signal })
}

/** Sends claimed messages and settles them. Returns true if more messages may be due. */
export async function deliverClaimed(scope: Scope, channel: LoadedChannel, delivery: Delivery): Promise<boolean> {
  const { outcomes, hasMore } = await sendAndSettle(scope, channel, delivery)
  // A paused channel is enqueued again when its messages are due.
  const isPaused = outcomes.some(
    ({ result }) => result.kind === 'stopped' || (result.kind === 'retry' && result.scope === 'channel'),
  )
  return !isPaused && hasMore
}

/**
 * Returns true if the batch was full, or its conversations have further messages, which nobody could claim while the ones
 * before them were being sent, and applies the statuses that arrived before the provider IDs of their messages. A failure
 * leaves the statuses to a periodic task, as outcomes that exist only in this process may wait to be stored.
 */
async function lookAfterSends(
  scope: Scope,
  channelId: string,
  { claimed, providerMessageIds }: { claimed: ClaimedMessage[]; providerMessageIds: string[] },
): Promise<boolean> {
  const conversationIds = claimed.map(({ conversationId }) => conversationId)
  try {
    const [found] = await scope.sql<{ hasMore: boolean; hasEarly: boolean }>('lookAfterSends')`
      select
        exists (select from outbox o
          where o.tenant_id = ${scope.tenantId} and o.conversation_id = any(${conversationIds})) as has_more,
        exists (select from message_statuses s
          where ${isEarlySql(scope.tenantId, channelId, providerMessageIds)}) as has_early`
    if (found?.hasEarly) await attachEarlyStatuses(scope, channelId, providerMessageIds)
    return claimed.length === CLAIM_MAX || (found?.hasMore ?? true)
  } catch (error) {
    scope.log.warn(
      { event: 'statuses_late', err: error, channelId },
      'the look for early statuses and further messages failed',
    )
    return true
  }
}

/**
 * Stores the outcomes and returns the provider IDs among them. They exist only in this process, so while the database
 * cannot be reached, or a lock is not available, they are kept until the claim expires. A repetition after a commit that
 * was not confirmed changes nothing. If the database refuses one of them, only the delivery of its message is unknown.
 */
async function settle(
  scope: Scope,
  channel: LoadedChannel,
  outcomes: DeliveryOutcome[],
  until: Date,
): Promise<string[]> {
  const refused = new Set<DeliveryOutcome>()
  let rest = outcomes
  const settleRest = async () => {
    const failures = await splitOnFailure(rest, {
      toKey: ({ message }) => message.messageId,
      run: (part, options) =>
        scope.transaction((tx) => settleMessages(tx, channel, part), { size: part.length, ...options }),
    })
    for (const [outcome, error] of failures) {
      if (isTransient(error)) continue
      refused.add(outcome)
      const { messageId, runId, span } = outcome.message
      span?.child('message.settle').fail(error)
      const about = { messageId, runId: runId ?? undefined, traceId: span?.traceId }
      scope.log.error({ event: 'send_unrecorded', err: error, ...about }, 'the outcome of a send could not be stored')
    }
    rest = [...failures.keys()].filter((outcome) => !refused.has(outcome))
    if (rest[0]) throw failures.get(rest[0])
  }
  await retry(settleRest, {
    isRetryable: isTransient,
    mayContinue: () => scope.now() < until,
    attemptsMax: SETTLE_ATTEMPTS_MAX,
    delayMs: SECOND / 4,
    delayMaxMs: 5 * SECOND,
  })
  return outcomes.flatMap((outcome) =>
    outcome.result.kind === 'accepted' && !refused.has(outcome) ? [outcome.result.providerMessageId] : [],
  )
}

/**
 * Sends messages and settles them in groups, as a slow response must not delay the outcomes of the others, which exist
 * only in this process. `hasMore` is true if their conversations may have further messages.
 */
async function sendAndSettle(
  scope: Scope,
  channel: LoadedChannel,
  { claimed, claimedUntil, signal }: Delivery,
): Promise<{ outcomes: DeliveryOutcome[]; hasMore: boolean }> {
  const outcomes: DeliveryOutcome[] = []
  const uploads = new FileUploads(scope, channel, { claimedUntil, signal })
  const sends = claimed.map(
    async (message) => void outcomes.push(await send(scope, channel, { message, sender: uploads })),
  )
  const allSent = Promise.all(sends)
  let hasMore = true
  for (let settled = 0; settled < claimed.length;) {
    await Promise.race([allSent, delay(SETTLE_EVERY_MS, undefined, { ref: false })])
    const group = outcomes.slice(settled)
    if (group.length === 0) continue
    const spans = group.flatMap(({ message }) => message.span?.child('message.settle') ?? [])
    const providerMessageIds = await settle(scope, channel, group, claimedUntil)
    for (const span of spans) span.end()
    hasMore = await lookAfterSends(scope, channel.id, { claimed, providerMessageIds })
    settled += group.length
  }
  return { outcomes, hasMore }
}

/** A workflow that sends later has waited for something else than the message of the customer. */
const ANSWER_MAX_MS = MINUTE

type Sender = { send(message: ClaimedMessage): Promise<SendResult> }

async function send(
  scope: Scope,
  { id, kind }: LoadedChannel,
  { message, sender }: { message: ClaimedMessage; sender: Sender },
): Promise<DeliveryOutcome> {
  const refusal = findRefusal(message)
  if (refusal) return { message, result: refusal }
  const { messageId, runId, attempt } = message
  const attributes = { 'parley.channel_id': id, 'parley.channel_kind': kind, 'parley.attempt': attempt }
  const ids = { 'parley.tenant_id': scope.tenantId, 'parley.message_id': messageId, 'parley.run_id': runId }
  const about = { ...ids, ...attributes }
  const startMs = performance.now()
  const result = await withSpan(message.span ?? scope.tracing, 'provider.send', about, async (span) => {
    const sent = await sender.send(message)
    span?.set({ 'parley.outcome': sent.kind })
    if (sent.kind !== 'accepted') span?.fail(sent.error.code)
    return sent
  })
  recordSend({ message, result }, { channelKind: kind, startMs, now: scope.now() })
  return { message, result }
}

const OUTCOMES: Record<SendResult['kind'], string> = {
  accepted: 'accepted',
  refused: 'rejected',
  stopped: 'rejected',
  retry: 'throttled',
  unknown: 'unknown',
}

/** Counts an attempt to send, and the time since the message of the customer that it answers. */
function recordSend(
  { message: { answers }, result }: DeliveryOutcome,
  { channelKind, startMs, now }: { channelKind: LoadedChannel['kind']; startMs: number; now: Date },
): void {
  const labels = { channel_kind: channelKind, outcome: OUTCOMES[result.kind] }
  observeSince(metrics.send, labels, startMs)
  count(metrics.sends, { ...labels, error_code: result.kind === 'accepted' ? '' : result.error.code })
  const latencyMs = answers ? now.getTime() - answers.getTime() : Infinity
  if (result.kind === 'accepted' && latencyMs < ANSWER_MAX_MS)
    observe(metrics.answerLatency, { channel_kind: channelKind }, latencyMs)
}
