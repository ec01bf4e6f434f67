import type { Scope } from '../../scope/scope.ts'

/**
 * Makes the transaction the only one that rolls up or recounts the numbers of a workspace. Those that write rows do not wait
 * for it.
 */
export async function lockCounts(tx: Pick<Scope, 'sql' | 'tenantId'>): Promise<void> {
  await tx.sql('lockCounts')`select pg_advisory_xact_lock(hashtextextended(${`counts ${tx.tenantId}`}, 0))`
}
