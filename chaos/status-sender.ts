import { setTimeout as delay } from 'node:timers/promises'
import type { StatusName } from '../fake-whatsapp/webhooks.ts'
import { FairSemaphore } from '../src/platform/concurrency/fair-semaphore.ts'
import type { Random } from './random.ts'
import type { WebhookSender } from './webhook-sender.ts'
import { sendsStatuses, type Workspace } from './workspace.ts'

const STATUSES: StatusName[] = ['sent', 'delivered', 'read']
const POLL_INTERVAL_MS = 50
/** Longest time that a response waits for the acknowledgement of its statuses. */
const STORED_MAX_MS = 2000
const SOON_MAX_MS = 50

/**
 * Requests of statuses at once. With all statuses of a broadcast in the air, the machine does nothing but refuse and repeat
 * them.
 */
const slots = new FairSemaphore({ width: 200 })

export type StatusSender = { stop(): Promise<void> }

/**
 * Sends the status webhooks of every message that the provider accepts, in random order. `stop` resolves when the
 * statuses of all accepted messages were acknowledged.
 */
export function startStatusSender(sender: WebhookSender, workspace: Workspace, random: Random): StatusSender {
  if (!sendsStatuses(workspace)) return { stop: () => Promise.resolve() }
  return workspace.providerBehavior === 'statuses_cross_response'
    ? crossResponses(sender, workspace, random)
    : sendAfterResponses(sender, workspace, random)
}

function sendAfterResponses(sender: WebhookSender, { provider }: Workspace, random: Random): StatusSender {
  let processed = 0
  let stopping = false
  const pending = new Set<Promise<void>>()
  const sendNewStatuses = () => {
    for (const { wamid, callbackData } of provider.accepted.slice(processed)) {
      processed += 1
      for (const status of random.shuffle(STATUSES)) {
        const delivery = sender
          .deliver(() => slots.run(null, () => provider.webhooks.sendStatuses([{ wamid, status, callbackData }])))
          .finally(() => pending.delete(delivery))
        pending.add(delivery)
      }
    }
  }
  const done = (async () => {
    while (!stopping) {
      sendNewStatuses()
      await delay(POLL_INTERVAL_MS)
    }
    sendNewStatuses()
    while (pending.size > 0) await Promise.all(pending)
  })()
  return {
    stop() {
      stopping = true
      return done
    },
  }
}

/**
 * Sends the statuses of a message when it is accepted, without our message ID, so that a status finds its message only if
 * the transaction that stores it or the one that stores the response looks for the row of the other. Some responses wait
 * until the statuses are stored, and some are sent together with them.
 */
function crossResponses(sender: WebhookSender, { provider }: Workspace, random: Random): StatusSender {
  const pending = new Set<Promise<void>>()
  provider.beforeResponse = async ({ wamid }) => {
    const deliveries = random.shuffle(STATUSES).map((status) => {
      const delivery = sender
        .deliver(() => slots.run(null, () => provider.webhooks.sendStatuses([{ wamid, status, callbackData: null }])))
        .finally(() => pending.delete(delivery))
      pending.add(delivery)
      return delivery
    })
    const moment = random.pick(['stored', 'soon', 'together', 'together'] as const)
    if (moment === 'stored') await Promise.race([Promise.all(deliveries), delay(STORED_MAX_MS)])
    if (moment === 'soon') await delay(random.between(1, SOON_MAX_MS))
  }
  return {
    async stop() {
      while (pending.size > 0) await Promise.all(pending)
    },
  }
}
