import type { SendResult } from '../../channels/channel.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { loadChannel, type LoadedChannel } from '../channels/load-channel.ts'
import { claimMessages, type ClaimedMessage } from './claim-messages.ts'
import { settleMessages } from './settle-messages.ts'

/** How many messages may be in doubt at most when a process dies. */
const CLAIM_MAX = 64

export type DeliveryOutcome = { message: ClaimedMessage; result: SendResult }

/**
 * The pump of a channel: claims, sends, settles, until nothing is due. The claim is committed before the provider is
 * called and the outcome after. Running twice is safe: a claimed message is claimed once, and one whose outcome was
 * lost is never sent again.
 */
export async function deliverMessages(system: SystemScope, payload: Record<string, string>): Promise<void> {
  const { tenantId = '', channelId = '' } = payload
  const scope = system.forTenant(tenantId)
  const channel = await loadChannel(scope, channelId).catch((error: unknown) => {
    // Deleted since the bell was rung, and its messages with it.
    if (error instanceof NotFoundError) return undefined
    throw error
  })
  if (!channel || channel.status === 'disconnected') return
  while (await deliverSome(scope, channel));
}

async function deliverSome(scope: Scope, channel: LoadedChannel): Promise<boolean> {
  if (channel.kind === 'sandbox') {
    // Nothing leaves the process, so nothing can be in doubt: one transaction does it all.
    return scope.transaction(async (tx) => {
      const claimed = await claimMessages(tx, channel.id, CLAIM_MAX)
      await settleMessages(tx, channel, await sendAll(channel, claimed))
      return claimed.length > 0
    })
  }
  const claimed = await scope.transaction((tx) => claimMessages(tx, channel.id, CLAIM_MAX))
  if (claimed.length === 0) return false
  const sent = await sendAll(channel, claimed)
  await scope.transaction((tx) => settleMessages(tx, channel, sent))
  // A channel that has to rest is rung again when its time has come.
  return sent.every(
    ({ result }) => result.kind !== 'stopped' && !(result.kind === 'retry' && result.scope === 'channel'),
  )
}

function sendAll(channel: LoadedChannel, messages: ClaimedMessage[]): Promise<DeliveryOutcome[]> {
  return Promise.all(
    messages.map(async (message) => ({
      message,
      result: message.isLate ? LATE : await channel.adapter.send(message),
    })),
  )
}

const LATE: SendResult = {
  kind: 'refused',
  error: {
    code: 'outside_window',
    message: 'The 24-hour customer service window closed before the message could be sent',
    providerCode: null,
    retryable: false,
  },
}
