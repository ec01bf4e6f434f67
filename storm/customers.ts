import { setTimeout as delay } from 'node:timers/promises'
import type { Customer, Line } from './population.ts'
import type { PostOffice } from './post-office.ts'
import { takenFor, type Workspace } from './workspace.ts'

/** Customers write again when they have an answer, or have waited for so long. */
const PATIENCE_MS = 2000

/** Everything one customer does, from the first message to the last. */
export async function playCustomer(office: PostOffice, workspace: Workspace, customer: Customer): Promise<void> {
  const { dialogue, lines, random } = customer
  if (dialogue.isHasty) {
    await Promise.all(random.shuffle(lines).map((line) => write(office, workspace, customer, line)))
    return
  }
  for (const [index, line] of lines.entries()) {
    if (index > 0 && dialogue.pauseMs !== undefined) await delay(dialogue.pauseMs + random.between(-300, 300))
    else if (index > 0) await whenAnswered(workspace, customer, index)
    await write(office, workspace, customer, line)
  }
}

function write(office: PostOffice, { cloud }: Workspace, { phone }: Customer, { wamid, body }: Line): Promise<void> {
  return office.deliver(async () => (await cloud.webhooks.receiveText({ from: phone, wamid, body })).status)
}

async function whenAnswered(workspace: Workspace, customer: Customer, answers: number): Promise<void> {
  const beganMs = performance.now()
  while (takenFor(workspace, customer).length < answers && performance.now() - beganMs < PATIENCE_MS) await delay(100)
}
