import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { schedule, type ScheduleTrigger } from '../../triggers/schedule.ts'
import { nextOccurrence } from '../../platform/cron.ts'
import { parseInstant } from '../../platform/zoned-time.ts'
import type { Scope } from '../../scope.ts'
import { workflowTimezone } from '../automation/workflow-zone.ts'

/**
 * Makes the workflow's schedules those of the definition, or none. One that stays as it was keeps its place: what is
 * due is not lost, and what was done is not done again. A moment that is past never comes.
 */
export async function replaceSchedules(
  tx: Scope,
  workflowId: string,
  compiled: CompiledDefinition | null,
): Promise<void> {
  const triggers = (compiled?.triggers ?? []).filter(schedule.is)
  const zone = await workflowTimezone(tx, compiled?.settings.timezone ?? null)
  const rows = triggers.map((trigger) => rowOf(trigger, zone, tx.now()))
  const own = { tenant_id: tx.tenantId, workflow_id: workflowId }
  const keys = rows.map(({ key }) => key)
  await tx.db('schedules').where(own).whereNotIn('key', keys).delete()
  if (rows.length === 0) return
  await tx
    .db('schedules')
    .insert(rows.map((row) => ({ ...own, ...row, created_at: tx.now() })))
    .onConflict(['tenant_id', 'workflow_id', 'key'])
    .ignore()
}

function rowOf({ cron, at, timezone, groupId }: ScheduleTrigger, workspaceZone: string, now: Date) {
  const zone = timezone ?? workspaceZone
  const moment = at === undefined ? null : new Date(parseInstant(at, zone) ?? Number.NaN)
  const next = moment ? (moment > now ? moment : null) : (nextOccurrence(cron ?? '', zone, now) ?? null)
  return {
    key: [cron ?? moment?.toISOString(), zone, groupId?.toLowerCase() ?? 'nobody'].join(' '),
    cron: cron ?? null,
    at: moment,
    timezone: zone,
    group_id: groupId ?? null,
    next_at: next,
  }
}
