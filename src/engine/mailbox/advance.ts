import type { Mailbox } from '../model/mailbox-key.ts'
import { handleFailure } from './handle-failure.ts'
import type { EnginePort, EngineTransaction } from './ports.ts'
import { processClaim } from './process-items.ts'

const MAILBOXES_MAX = 50
const BATCHES_MAX = 4

/**
 * Advances a tenant's mailboxes: claims the items of a batch, decides in memory, and commits the claim together with the
 * decisions. A crash leaves either all of that or nothing, and the next attempt finds the mailboxes as they are. Returns
 * true if more is due, so that the caller can let other tenants go first.
 */
export async function advance<Tx extends EngineTransaction>(port: EnginePort<Tx>, tenantId: string): Promise<boolean> {
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const { mailboxes, areAll } = await port.listDueMailboxes(tenantId, MAILBOXES_MAX)
    if (mailboxes.length === 0) return false
    const isMoreDue = await advanceMailboxes(port, tenantId, mailboxes)
    // Items that are put into mailboxes afterwards come with a job of their own.
    if (!isMoreDue && areAll) return false
  }
  return true
}

/**
 * Advances a batch in one transaction; if that fails, in parts, so that one mailbox cannot block the others. What fails alone
 * is advanced item by item, without a limit to its wait for a lock. Returns true if items of the batch may still be due.
 */
async function advanceMailboxes<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  tenantId: string,
  mailboxes: Mailbox[],
): Promise<boolean> {
  let isMoreDue = false
  const failed = await port.split(mailboxes, async (part, options) => {
    const work = (tx: Tx) => advanceBatch(port, tx, part)
    if (await port.transaction(tenantId, work, { size: part.length, ...options })) isMoreDue = true
  })
  for (const mailbox of failed) await advanceItemByItem(port, tenantId, mailbox)
  return isMoreDue || failed.length > 0
}

/** A failing item is retried with backoff and blocks only its own mailbox until it is dead-lettered. */
async function advanceItemByItem<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  tenantId: string,
  mailbox: Mailbox,
): Promise<void> {
  for (;;) {
    const item = await port.transaction(tenantId, (tx) => port.store.nextItem(tx, mailbox))
    if (!item) return
    try {
      await port.transaction(tenantId, (tx) => advanceBatch(port, tx, [mailbox], item.id))
    } catch (error) {
      if (!(await handleFailure(port, { tenantId, mailbox, item, error }))) return
    }
  }
}

async function advanceBatch<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  tx: Tx,
  mailboxes: Mailbox[],
  only: string | null = null,
): Promise<boolean> {
  // Sent together, in this order. If a lock is not available, the transaction refuses what follows it.
  const locks = port.store.lockMailboxes(tx, mailboxes)
  const claim = port.store.takeItems(tx, { mailboxes, only })
  const [isMoreDue] = await Promise.all([processClaim(port, tx, { mailboxes, claim }), locks])
  return isMoreDue
}
