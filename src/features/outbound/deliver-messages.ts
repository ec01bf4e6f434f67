import type { SendResult } from '../../channels/channel.ts'
import { retry } from '../../platform/concurrency/retry.ts'
import { isTransient } from '../../platform/database/database.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { addMs, SECOND } from '../../platform/time.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { loadChannel, type LoadedChannel } from '../channels/load-channel.ts'
import { CLAIM_MS, claimMessages, type ClaimedMessage } from './claim-messages.ts'
import { settleMessages } from './settle-messages.ts'

/** Messages per claim, and therefore the most whose delivery is unknown after a crash of the process. */
const CLAIM_MAX = 64
/** With the delays between them, enough for as long as a claim lasts. */
const SETTLE_ATTEMPTS_MAX = 30

export type DeliveryOutcome = { message: ClaimedMessage; result: SendResult }

/**
 * Sends a channel's messages: claims, sends and settles batches until nothing is due. The claim is committed before the
 * provider is called and the outcome after. Concurrent runs are safe: a message is claimed once, and one whose outcome
 * was lost is never sent again.
 */
export async function deliverMessages(system: SystemScope, payload: Record<string, string>): Promise<void> {
  const { tenantId = '', channelId = '' } = payload
  const scope = system.forTenant(tenantId)
  const channel = await loadChannel(scope, channelId).catch((error: unknown) => {
    // The channel was deleted with its messages after the job was enqueued.
    if (error instanceof NotFoundError) return undefined
    throw error
  })
  if (!channel || channel.status === 'disconnected') return
  while (await deliverBatch(scope, channel));
}

/** Returns true if more messages may be due. */
async function deliverBatch(scope: Scope, channel: LoadedChannel): Promise<boolean> {
  if (channel.kind === 'sandbox') {
    // Nothing leaves the process, so no delivery can be unknown: one transaction is enough.
    return scope.transaction(async (tx) => {
      const claimed = await claimMessages(tx, channel.id, CLAIM_MAX)
      await settleMessages(tx, channel, await sendAll(channel, claimed))
      return claimed.length > 0
    })
  }
  const claimed = await scope.transaction((tx) => claimMessages(tx, channel.id, CLAIM_MAX))
  if (claimed.length === 0) return false
  const claimedUntil = addMs(scope.now(), CLAIM_MS)
  const outcomes = await sendAll(channel, claimed)
  await settle(scope, channel, outcomes, claimedUntil)
  // A paused channel is enqueued again when its messages are due.
  return outcomes.every(
    ({ result }) => result.kind !== 'stopped' && !(result.kind === 'retry' && result.scope === 'channel'),
  )
}

/**
 * Stores the outcomes. They exist only in this process, so while the database cannot be reached they are kept until the
 * claim expires. A repetition after a commit that was not confirmed changes nothing.
 */
function settle(scope: Scope, channel: LoadedChannel, outcomes: DeliveryOutcome[], claimedUntil: Date): Promise<void> {
  return retry(() => scope.transaction((tx) => settleMessages(tx, channel, outcomes)), {
    isRetryable: isTransient,
    mayContinue: () => scope.now() < claimedUntil,
    attemptsMax: SETTLE_ATTEMPTS_MAX,
    delayMs: SECOND / 4,
    delayMaxMs: 5 * SECOND,
  })
}

function sendAll(channel: LoadedChannel, messages: ClaimedMessage[]): Promise<DeliveryOutcome[]> {
  return Promise.all(
    messages.map(async (message) => ({
      message,
      result: findRefusal(message) ?? (await channel.adapter.send(message)),
    })),
  )
}

/** Returns the result of a message that must not be sent any more. */
function findRefusal({ isContactBlocked, isOutsideWindow }: ClaimedMessage): SendResult | undefined {
  if (isContactBlocked) return CONTACT_BLOCKED
  return isOutsideWindow ? WINDOW_CLOSED : undefined
}

const CONTACT_BLOCKED: SendResult = {
  kind: 'refused',
  error: {
    code: 'contact_blocked',
    message: 'The contact was blocked before the message could be sent',
    providerCode: null,
    retryable: false,
    hint: 'Unblock the contact and send the message again',
  },
}

const WINDOW_CLOSED: SendResult = {
  kind: 'refused',
  error: {
    code: 'outside_window',
    message: 'The 24-hour customer service window closed before the message could be sent',
    providerCode: null,
    retryable: false,
  },
}
