import { isGeneralOutage } from '../database/database.ts'
import type { Logger } from '../log.ts'

/**
 * Does the work of a periodic task for workspaces in turn. Where it fails the error is logged and the work is left to the
 * next run; the other workspaces do not wait for it. Returns the workspaces where it failed.
 * @throws the error of a database that is not available, which the other workspaces would meet, too
 */
export async function forEachTenant(
  rows: readonly { tenantId: string }[],
  { log, task }: { log: Logger; task: string },
  work: (tenantId: string) => Promise<unknown>,
): Promise<string[]> {
  const failed: string[] = []
  for (const tenantId of new Set(rows.map((row) => row.tenantId))) {
    try {
      await work(tenantId)
    } catch (error) {
      if (isGeneralOutage(error)) throw error
      failed.push(tenantId)
      log.error(
        { event: 'periodic_task_failed', err: error, tenantId, task },
        'periodic task failed for a workspace and will be repeated',
      )
    }
  }
  return failed
}
