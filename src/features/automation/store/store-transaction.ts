import type { Scope } from '../../../scope/scope.ts'

/** A transaction of one tenant, as the stores of mailboxes and runs need it. */
export type StoreTransaction = Pick<Scope, 'tenantId' | 'sql' | 'now' | 'traceColumn'>
