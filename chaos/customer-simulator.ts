import { setTimeout as delay } from 'node:timers/promises'
import type { Customer, CustomerMessage } from './customer-factory.ts'
import type { WebhookSender } from './webhook-sender.ts'
import { listAcceptedSends, type Workspace } from './workspace.ts'

/** Longest time that a customer waits for a reply before sending the next message. */
const REPLY_TIMEOUT_MS = 2000

/** Sends all messages of one customer, as its scenario prescribes. */
export async function simulateCustomer(sender: WebhookSender, workspace: Workspace, customer: Customer): Promise<void> {
  const { scenario, messages, random } = customer
  if (scenario.isConcurrent) {
    await Promise.all(random.shuffle(messages).map((message) => sendMessage(sender, workspace, customer, message)))
    return
  }
  for (const [index, message] of messages.entries()) {
    if (index > 0 && scenario.delayMs !== undefined) await delay(scenario.delayMs + random.between(-300, 300))
    else if (index > 0 && !scenario.isSequence) await waitForReplies(workspace, customer, index)
    await sendMessage(sender, workspace, customer, message)
  }
}

function sendMessage(
  sender: WebhookSender,
  { provider }: Workspace,
  { phone }: Customer,
  { wamid, body }: CustomerMessage,
): Promise<void> {
  return sender.deliver(async () => (await provider.webhooks.sendText({ from: phone, wamid, body })).status)
}

async function waitForReplies(workspace: Workspace, customer: Customer, count: number): Promise<void> {
  const deadlineMs = performance.now() + REPLY_TIMEOUT_MS
  while (listAcceptedSends(workspace, customer).length < count && performance.now() < deadlineMs) await delay(100)
}
