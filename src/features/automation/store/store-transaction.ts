import type { Database } from '../../../platform/database/database.ts'

/** A transaction of one tenant, as the stores of mailboxes and runs need it. */
export type StoreTransaction = { readonly tenantId: string; readonly db: Database; now(): Date }
