import { percentile } from '../bench/stats.ts'
import { toRecords } from './conversation-invariants.ts'
import type { DatabaseSnapshot, Message } from './database-snapshot.ts'
import { type FaultFreePhase, OPEN_REQUESTS_MIN } from './fault-free-phase.ts'
import type { HangingChannels, ResponseMode } from './hanging-channels.ts'
import type { InvariantResult } from './invariant.ts'

const DELAY_FACTOR = 2
/**
 * A pause of a busy machine, which may fall into one of the two phases. Replies that wait for a provider that hangs take
 * seconds longer, up to the 15 seconds of a send.
 */
const DELAY_NOISE_MS = 500

export type HangingCounts = { sent: number; unknown: number }

/** Checks what was measured before the first fault. */
export function checkFaultFree({ calm, hanging, openRequests, unattached }: FaultFreePhase): InvariantResult[] {
  const [calmMs, hangingMs] = [percentile(calm, 90), percentile(hanging, 90)]
  const limitMs = calmMs * DELAY_FACTOR + DELAY_NOISE_MS
  return [
    {
      name: 'a provider that hangs does not delay the replies of other workspaces',
      checked: calm.length + hanging.length,
      violations: [
        ...(hangingMs <= limitMs
          ? []
          : [`90 % of replies took ${hangingMs.toFixed(0)} ms, and ${calmMs.toFixed(0)} ms before the provider hung`]),
        ...(openRequests >= OPEN_REQUESTS_MIN
          ? []
          : [`only ${openRequests} requests were open at the provider, so nothing was measured`]),
      ],
    },
    {
      name: 'a status that crosses the response of its send is on the message at once',
      checked: calm.length + hanging.length,
      violations: unattached,
    },
  ]
}

/**
 * Checks that no message counts as sent to which the provider never responded. That it is requested once at most, and ends
 * as sent or unknown, holds for all workspaces.
 */
export function checkHangingSends(
  { workspaces, responses }: HangingChannels,
  snapshot: DatabaseSnapshot,
): { result: InvariantResult; counts: HangingCounts } {
  const messages = toRecords(workspaces, snapshot).flatMap(({ outbound }) => outbound)
  return {
    result: {
      name: 'a message without a response of its provider does not count as sent',
      checked: messages.length,
      violations: findDishonest(messages, responses),
    },
    counts: {
      sent: messages.filter(({ status }) => status === 'sent').length,
      unknown: messages.filter(({ errorCode }) => errorCode === 'delivery_unknown').length,
    },
  }
}

/** A late response is stored only by a process that was frozen meanwhile, so such a message may be sent or unknown. */
export function findDishonest(
  messages: Pick<Message, 'id' | 'status' | 'errorCode'>[],
  responses: ReadonlyMap<string, ResponseMode>,
): string[] {
  return messages.flatMap(({ id, status, errorCode }) => {
    const response = responses.get(id)
    const isUnknown = status === 'failed' && errorCode === 'delivery_unknown'
    if (isUnknown || (status === 'sent' && response !== undefined && response !== 'never')) return []
    return [`message ${id} is ${status} (${errorCode ?? 'no error'}), the response came ${response ?? 'to no request'}`]
  })
}
