import type { StoredRun } from '../../engine/model/stored-run.ts'
import { isFinished } from '../../engine/model/run.ts'
import type { Scope } from '../../scope.ts'

/**
 * What these runs wanted done, and do not wait for any more, is not begun; of what is under way, no result comes, and
 * nothing of ours is changed by it. Done before anything is rung for, as whoever settles rings while holding the effect.
 */
export async function discardCalls(tx: Scope, runs: Pick<StoredRun, 'state'>[]): Promise<void> {
  if (runs.length === 0) return
  const given = runs.map(({ state }) => ({ id: state.id, epoch: isFinished(state) ? null : state.epoch }))
  await tx.db.raw(
    `delete from external_calls e using jsonb_to_recordset(?::jsonb) as x (id uuid, epoch int)
     where e.tenant_id = ? and e.run_id = x.id and e.epoch is distinct from x.epoch`,
    [JSON.stringify(given), tx.tenantId],
  )
}
