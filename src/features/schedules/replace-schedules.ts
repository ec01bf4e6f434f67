import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { schedule, type ScheduleTrigger } from '../../triggers/schedule.ts'
import { nextOccurrence } from '../../platform/calendar/cron.ts'
import { parseInstant } from '../../platform/calendar/zoned-time.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
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
  // Triggers with the same settings share a schedule.
  const byKey = new Map(triggers.map((trigger) => toScheduleRow(trigger, zone, tx.now())).map((row) => [row.key, row]))
  const rows = [...byKey.values()]
  const keys = rows.map(({ key }) => key)
  await tx.sql('deleteSchedules')`
    delete from schedules where tenant_id = ${tx.tenantId} and workflow_id = ${workflowId} and not key = any(${keys})`
  if (rows.length === 0) return
  const added = rows.map((row) => ({ workflowId, ...row, createdAt: tx.now() }))
  await tx.sql('addSchedules')`
    ${insertRowsSql('schedules', tx.tenantId, added)} ${REVIVE_SQL}`
}

/** Inserts a schedule unless there is one. One that only completes its last occurrence goes on. */
export const REVIVE_SQL = sqlFragment`on conflict (tenant_id, workflow_id, key) do update set cron = excluded.cron,
  at = excluded.at, next_at = coalesce(schedules.next_at, excluded.next_at)
  where schedules.cron is null and excluded.cron is not null`

/** Builds the row of a trigger. `defaultZone` is that of a trigger which names none. */
export function toScheduleRow({ cron, at, timezone, groupId }: ScheduleTrigger, defaultZone: string, now: Date) {
  const zone = timezone ?? defaultZone
  const time = at === undefined ? null : new Date(parseInstant(at, zone) ?? Number.NaN)
  const next = time ? (time > now ? time : null) : (nextOccurrence(cron ?? '', zone, now) ?? null)
  return {
    key: [cron ?? time?.toISOString(), zone, groupId?.toLowerCase() ?? 'nobody'].join(' '),
    cron: cron ?? null,
    at: time,
    timezone: zone,
    groupId: groupId ?? null,
    nextAt: next,
  }
}
