import type { Scope } from '../../scope.ts'

/** What these runs still wanted done is not begun any more; of what is under way, no result comes. */
export async function dropEffects(tx: Scope, runIds: string[]): Promise<void> {
  await tx.db('effects').where({ tenant_id: tx.tenantId }).whereIn('run_id', runIds).delete()
}
