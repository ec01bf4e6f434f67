import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { schedule, type ScheduleTrigger } from '../../triggers/schedule.ts'
import { nextOccurrence } from '../../platform/calendar/cron.ts'
import { parseInstant } from '../../platform/calendar/zoned-time.ts'
import type { Scope } from '../../scope/scope.ts'
import { workflowTimezone } from '../automation/workflow-zone.ts'

/**
 * Replaces the schedules of a workflow with those of the definition, or none. An unchanged schedule keeps its position, so
 * occurrences are neither lost nor repeated. A time in the past never fires.
 */
export async function replaceSchedules(
  tx: Scope,
  workflowId: string,
  compiled: CompiledDefinition | null,
): Promise<void> {
  const triggers = (compiled?.triggers ?? []).filter(schedule.is)
  const zone = await workflowTimezone(tx, compiled?.settings.timezone ?? null)
  const rows = triggers.map((trigger) => toRow(trigger, zone, tx.now()))
  const workflow = { tenant_id: tx.tenantId, workflow_id: workflowId }
  const keys = rows.map(({ key }) => key)
  await tx.db('schedules').where(workflow).whereNotIn('key', keys).delete()
  if (rows.length === 0) return
  await tx
    .db('schedules')
    .insert(rows.map((row) => ({ ...workflow, ...row, created_at: tx.now() })))
    .onConflict(['tenant_id', 'workflow_id', 'key'])
    .ignore()
}

function toRow({ cron, at, timezone, groupId }: ScheduleTrigger, workspaceZone: string, now: Date) {
  const zone = timezone ?? workspaceZone
  const time = at === undefined ? null : new Date(parseInstant(at, zone) ?? Number.NaN)
  const next = time ? (time > now ? time : null) : (nextOccurrence(cron ?? '', zone, now) ?? null)
  return {
    key: [cron ?? time?.toISOString(), zone, groupId?.toLowerCase() ?? 'nobody'].join(' '),
    cron: cron ?? null,
    at: time,
    timezone: zone,
    group_id: groupId ?? null,
    next_at: next,
  }
}
