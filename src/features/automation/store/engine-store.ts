import type { MailboxStore, RunStore } from '../../../engine/mailbox/store.ts'
import { takeItems, lockMailboxes, nextItem, postponeItem, putItems, resetAttempts } from './mailbox-store.ts'
import { countCascades, loadActiveRuns, saveRuns, saveSteps, saveWaits } from './run-store.ts'
import type { StoreTransaction } from './store-transaction.ts'

/** The engine's store on Postgres. */
export const engineStore: MailboxStore<StoreTransaction> & RunStore<StoreTransaction> = {
  lockMailboxes,
  takeItems,
  nextItem,
  postponeItem,
  resetAttempts,
  putItems,
  loadActiveRuns,
  saveRuns,
  saveWaits,
  saveSteps,
  countCascades,
}
