import { setTimeout as delay } from 'node:timers/promises'
import type { StatusName } from '../fake-whatsapp/webhooks.ts'
import type { Random } from './random.ts'
import type { WebhookSender } from './webhook-sender.ts'
import type { Workspace } from './workspace.ts'

const STATUSES: StatusName[] = ['sent', 'delivered', 'read']
const POLL_INTERVAL_MS = 50

export type StatusSender = { stop(): Promise<void> }

/**
 * Sends the status webhooks of every message that the provider accepts, in random order. `stop` resolves when the
 * statuses of all accepted messages were acknowledged.
 */
export function startStatusSender(sender: WebhookSender, workspace: Workspace, random: Random): StatusSender {
  const { provider, providerBehavior } = workspace
  let processed = 0
  let stopping = false
  const pending = new Set<Promise<void>>()
  const sendNewStatuses = () => {
    for (const { wamid, callbackData } of provider.accepted.slice(processed)) {
      processed += 1
      for (const status of random.shuffle(STATUSES)) {
        const delivery = sender
          .deliver(() => provider.webhooks.sendStatuses([{ wamid, status, callbackData }]))
          .finally(() => pending.delete(delivery))
        pending.add(delivery)
      }
    }
  }
  const done = (async () => {
    if (!providerBehavior.sendsStatuses) return
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
