import type { SystemScope } from '../../scope/system-scope.ts'

const COUNT_MAX = 1000

/** Logs how many dead letters there are, if any, so that operators can raise an alert. The count ends at 1000. */
export async function reportDeadLetters(system: Pick<SystemScope, 'acrossTenants' | 'log'>): Promise<void> {
  const [row] = await system.acrossTenants<{ count: number; workspaces: number }>('reportDeadLetters')`
      select count(*)::int as count, count(distinct tenant_id)::int as workspaces
     from (select tenant_id from dead_letters limit ${COUNT_MAX}) counted`
  if (row && row.count > 0) system.log.warn({ ...row, countMax: COUNT_MAX }, 'dead letters wait for a retry or discard')
}
