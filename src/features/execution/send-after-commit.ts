import type { JobControl, JobPlace } from '../../platform/jobs/job-queue.ts'
import { groupBy } from '../../platform/group-by.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import type { TransactionOptions } from '../../scope/dependencies.ts'
import { addMs } from '../../platform/time.ts'
import { deliverJob } from '../automation/jobs.ts'
import { loadCachedChannel, type LoadedChannel } from '../channels/load-channel.ts'
import { CLAIM_MS } from '../outbound/claim-messages.ts'
import { type Claim, claimInTransaction, commitClaim } from '../outbound/commit-claim.ts'
import { CLAIM_MAX, deliverClaimed } from '../outbound/deliver-messages.ts'
import { enqueueDelivery, type NewOutbound } from '../outbound/queue-messages.ts'

/** The messages of a channel that a transaction claims, and the place in which they will be sent. */
type Send = {
  channel: LoadedChannel
  place: JobPlace
  messages: NewOutbound[]
  claim: Promise<Claim>
  claimedUntil: Date
}

/**
 * Lets a transaction claim the messages that it queues, so that they are sent right after its commit, without another
 * transaction. Executes one transaction at a time.
 */
export class SendsAfterCommit {
  readonly #system: SystemScope
  readonly #control: JobControl
  #sends: Send[] = []
  /** Messages of the transaction that are left to jobs. */
  #left: NewOutbound[] = []
  /** The transaction whose work is in progress. Work of one that has failed may go on for a moment. */
  #open: Scope | undefined

  constructor(system: SystemScope, control: JobControl) {
    this.#system = system
    this.#control = control
  }

  /** Executes `work` in a transaction, and sends what it has claimed. Resolves after the commit, before the sends. */
  async transact<T>(tenantId: string, work: (tx: Scope) => Promise<T>, options: TransactionOptions): Promise<T> {
    const scope = this.#system.forTenant(tenantId)
    const execute = async (tx: Scope) => {
      // The transaction may be a repetition of one that failed.
      this.#leave()
      this.#open = tx
      const result = await work(tx)
      const claims = await Promise.all(this.#sends.map((send) => this.#finishClaim(send)))
      await enqueueDelivery(tx, this.#left)
      const transactionId = claims.find((claim) => claim.transactionId !== undefined)?.transactionId
      return { result, claimed: claims.flatMap(({ claimed }) => claimed), transactionId }
    }
    try {
      const { result } = await commitClaim(scope, execute, options)
      for (const send of this.#sends) send.place.take(() => this.#deliver(scope, send))
      this.#sends = []
      return result
    } finally {
      this.#leave()
    }
  }

  /**
   * Claims messages that the transaction has stored, and does not wait for the response. Those of a channel that is busy, or
   * that the process has not used lately, are left to a job.
   */
  async claim(tx: Scope, messages: NewOutbound[]): Promise<void> {
    for (const [channelId, ofChannel] of groupBy(messages, (message) => message.channelId)) {
      const channel = await this.#findChannel(tx.tenantId, channelId)
      if (tx !== this.#open) return
      const place = channel && this.#control.reserve?.(deliverJob(tx.tenantId, channelId))
      if (!place) {
        this.#left.push(...ofChannel)
        continue
      }
      const messageIds = ofChannel.map(({ id }) => id)
      const claim = claimInTransaction(tx, { channelId, limit: CLAIM_MAX, messageIds })
      // It is awaited at the end of the work, which may fail before.
      claim.catch(() => undefined)
      this.#sends.push({ channel, place, messages: ofChannel, claim, claimedUntil: addMs(tx.now(), CLAIM_MS) })
    }
  }

  /** Finds a channel without waiting: the transaction must not wait for another connection. */
  async #findChannel(tenantId: string, channelId: string): Promise<LoadedChannel | undefined> {
    try {
      const loading = loadCachedChannel(this.#system.forTenant(tenantId), channelId)
      const channel = await Promise.race([loading, undefined])
      // The sandbox delivers within a transaction.
      return channel?.status === 'disconnected' || channel?.kind === 'sandbox' ? undefined : channel
    } catch {
      return undefined
    }
  }

  /** Leaves messages to a job if nothing of their conversation was claimed: others are being sent before them. */
  async #finishClaim({ claim, messages }: Send): Promise<Claim> {
    const { claimed, transactionId } = await claim
    const conversationIds = new Set(claimed.map(({ conversationId }) => conversationId))
    this.#left.push(...messages.filter(({ conversationId }) => !conversationIds.has(conversationId)))
    return { claimed, transactionId }
  }

  async #deliver(scope: Scope, { channel, claim, claimedUntil }: Send): Promise<void> {
    const { claimed } = await claim
    if (claimed.length === 0) return
    const { signal } = this.#control
    const hasMore = await deliverClaimed(scope, channel, { claimed, claimedUntil, signal })
    if (hasMore) scope.enqueue(deliverJob(scope.tenantId, channel.id))
  }

  #leave(): void {
    this.#open = undefined
    this.#left = []
    for (const { place } of this.#sends) place.leave()
    this.#sends = []
  }
}
