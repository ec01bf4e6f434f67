import { sqlText } from '../../platform/database/statements/statement.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

/** A job and its results are kept for so long after its end. */
const KEPT_MS = 30 * DAY
/** Jobs that are looked up at once, and how often in a run. What is left is deleted by the next run. */
const JOBS_MAX = 100
const PORTIONS_MAX = 50

/** Deletes old jobs with the results of their lines, in short statements. Running it concurrently or repeatedly is safe. */
export async function purgeJobs(system: SystemScope): Promise<void> {
  const failed: string[] = []
  for (let portion = 0; portion < PORTIONS_MAX; portion += 1) {
    const old = await system.acrossTenants<{ tenantId: string; id: string }>('findOldJobs')`
      select j.tenant_id, j.id from jobs j where j.finished_at < ${addMs(system.now(), -KEPT_MS)}
        and j.tenant_id <> all(${failed}::uuid[]) and ${system.deletedWorkspaces.exceptSql('j')}
      order by j.finished_at limit ${JOBS_MAX}`
    const context = { log: system.log, task: 'purge jobs' }
    const failedNow = await forEachTenant(old, context, async (tenantId) => {
      for (const job of old) if (job.tenantId === tenantId) await purgeJob(system, job)
    })
    failed.push(...failedNow)
    if (old.length < JOBS_MAX) return
  }
}

async function purgeJob(system: SystemScope, { tenantId, id }: { tenantId: string; id: string }): Promise<void> {
  const scope = system.forTenant(tenantId)
  const { purge } = system.portions
  for (const table of ['job_items', 'job_targets']) {
    for (let count = purge; count === purge;) {
      const deleted = await scope.sql('deleteOldJobLines')`
        delete from ${sqlText(table)} i where i.tenant_id = ${tenantId} and i.job_id = ${id} and i.line in (
          select line from ${sqlText(table)} where tenant_id = ${tenantId} and job_id = ${id} order by line limit ${purge})
        returning i.line`
      count = deleted.length
    }
  }
  await scope.sql('deleteOldJob')`delete from jobs where tenant_id = ${tenantId} and id = ${id}`
}
