import { createHash } from 'node:crypto'
import { z } from 'zod'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { purgeTenantRows } from '../retention/purge-rows.ts'

const Request = z.object({ workflowId: z.string().nullable(), key: z.string(), max: z.int(), perMs: z.int() })

/** Counts a run that passes a throttle step. A window that has ended begins again. */
export async function takePassage(
  tx: Scope,
  { request, stepId }: { request: unknown; stepId: string },
): Promise<{ isAllowed: boolean; endsAt: string }> {
  const { workflowId, key, max, perMs } = Request.parse(request)
  const now = tx.now()
  const [row] = await tx.sql<{ count: number; endsAt: Date }>('takePassage')`
    insert into throttle_windows as w (tenant_id, key, count, ends_at) values (${tx.tenantId}, ${toWindowKey(workflowId, stepId, key)}, 1, ${addMs(now, perMs)})
     on conflict (tenant_id, key) do update set
       count = case when w.ends_at <= ${now} then 1 else least(w.count, ${max}::int) + 1 end,
       ends_at = case when w.ends_at <= ${now} then excluded.ends_at else w.ends_at end
     returning count, ends_at`
  return { isAllowed: (row?.count ?? 0) <= max, endsAt: (row?.endsAt ?? now).toISOString() }
}

export function toWindowKey(workflowId: string | null, stepId: string, key: string): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([workflowId, stepId, key]))
    .digest()
}

/** Deletes the windows that have ended. */
export async function purgeThrottleWindows(system: SystemScope): Promise<void> {
  await purgeTenantRows(system, {
    table: sqlFragment`throttle_windows`,
    key: sqlFragment`jsonb_build_object('key', t.key)`,
    isSame: sqlFragment`t.key = old.key`,
    isOld: sqlFragment`t.ends_at < ${system.now()}`,
  })
}
