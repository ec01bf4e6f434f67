import { setImmediate } from 'node:timers/promises'
import { schedule } from '../../triggers/schedule.ts'
import type { Scope } from '../../scope/scope.ts'
import { listPublished } from '../automation/published-workflows.ts'
import { REVIVE_SQL, toScheduleRow } from './replace-schedules.ts'

type Zones = { from: string; to: string }
type MovedSchedule = ReturnType<typeof toScheduleRow> & { workflowId: string; formerKey: string }

/**
 * Moves the schedules that follow the time zone of the workspace to another one. An occurrence that is due, or has started
 * some of its runs, is completed first, and a single time that is over stays over. The transaction holds the workspace.
 */
export async function moveSchedules(tx: Scope, zones: Zones): Promise<void> {
  const { moved, kept } = await compareSchedules(tx, zones)
  if (moved.length === 0) return
  const rows = moved.map(({ workflowId, formerKey, key, at, nextAt }) => ({
    workflow_id: workflowId,
    former_key: formerKey,
    key,
    at,
    next_at: nextAt,
    is_shared: kept.has(`${workflowId} ${formerKey}`),
  }))
  const changes = JSON.stringify(rows)
  const workflowIds = [...new Set(moved.map(({ workflowId }) => workflowId))]
  // Inserted schedules refer to them: one that is being unpublished is waited for before its schedules are locked.
  await tx.sql('lockMovedWorkflows')`
    select from workflows where tenant_id = ${tx.tenantId} and id = any(${workflowIds}) order by id for key share`
  // Firing skips the rows while they are locked, so that no occurrence is started under both keys.
  await tx.sql('lockMovedSchedules')`
    select from schedules where tenant_id = ${tx.tenantId} and workflow_id = any(${workflowIds})
    order by workflow_id, key for update`
  const added = await tx.sql<{ workflowId: string; key: string }>('addMovedSchedules')`
    insert into schedules (tenant_id, workflow_id, key, cron, at, timezone, group_id, next_at, cursor, created_at)
    select ${tx.tenantId}::uuid, s.workflow_id, x.key, s.cron, x.at, ${zones.to}, s.group_id,
      case when s.next_at is null or (x.is_shared and s.at is not null and s.next_at <= ${tx.now()}) then null
        when x.is_shared then x.next_at
        when s.next_at <= ${tx.now()} or s.cursor is not null then s.next_at else x.next_at end, case when not x.is_shared then s.cursor end, s.created_at
    from jsonb_to_recordset(${changes}::jsonb) as x (workflow_id uuid, former_key text, key text, at timestamptz,
      next_at timestamptz, is_shared boolean)
    join schedules s on s.workflow_id = x.workflow_id and s.key = x.former_key
    where s.tenant_id = ${tx.tenantId}
    ${REVIVE_SQL} returning workflow_id, key`
  const addedKeys = new Set(added.map(({ workflowId, key }) => `${workflowId} ${key}`))
  const left = rows.filter((row) => !row.is_shared)
  const ended = await endSchedules(
    tx,
    left.filter(({ workflow_id: id, key }) => !addedKeys.has(`${id} ${key}`)),
  )
  const obsolete = left.filter((row) => !ended.has(`${row.workflow_id} ${row.former_key}`))
  await tx.sql('deleteMovedSchedules')`
    delete from schedules s
    using jsonb_to_recordset(${JSON.stringify(obsolete)}::jsonb) as x (workflow_id uuid, former_key text)
    where s.tenant_id = ${tx.tenantId} and s.workflow_id = x.workflow_id and s.key = x.former_key`
}

/**
 * Lets schedules of which another trigger has the one in the new zone complete the occurrence that is due or has begun, as
 * their last one. Returns those that have one.
 */
async function endSchedules(
  tx: Scope,
  schedules: { workflow_id: string; former_key: string }[],
): Promise<ReadonlySet<string>> {
  if (schedules.length === 0) return new Set()
  const ended = await tx.sql<{ workflowId: string; key: string }>('endMovedSchedules')`
    update schedules s set cron = null, at = s.next_at
    from jsonb_to_recordset(${JSON.stringify(schedules)}::jsonb) as x (workflow_id uuid, former_key text)
    where s.tenant_id = ${tx.tenantId} and s.workflow_id = x.workflow_id and s.key = x.former_key
      and s.next_at is not null and (s.next_at <= ${tx.now()} or s.cursor is not null)
    returning s.workflow_id, s.key`
  return new Set(ended.map(({ workflowId, key }) => `${workflowId} ${key}`))
}

/** Lists the schedules that move, and the keys of those that name their own time zone. */
async function compareSchedules(
  tx: Scope,
  { from, to }: Zones,
): Promise<{ moved: MovedSchedule[]; kept: Set<string> }> {
  const moved: MovedSchedule[] = []
  const kept = new Set<string>()
  for (const { workflowId, compiled } of await listPublished(tx)) {
    const triggers = compiled.triggers.filter(schedule.is)
    if (triggers.length === 0) continue
    const { timezone: setting } = compiled.settings
    const follows = setting === null || setting === 'contact'
    for (const trigger of triggers) {
      const former = toScheduleRow(trigger, follows ? from : setting, tx.now())
      if (!follows || trigger.timezone !== undefined) kept.add(`${workflowId} ${former.key}`)
      else moved.push({ ...toScheduleRow(trigger, to, tx.now()), workflowId, formerKey: former.key })
    }
    // Finding the next time of a rare schedule takes a while.
    await setImmediate()
  }
  return { moved: [...new Map(moved.map((row) => [`${row.workflowId} ${row.key}`, row])).values()], kept }
}
