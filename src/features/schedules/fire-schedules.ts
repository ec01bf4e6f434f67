import { deriveId } from '../../engine/model/derive-id.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { startRuns } from '../runs/start-runs.ts'
import { latestOccurrence, nextOccurrence } from '../../platform/calendar/cron.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { NIL_ID } from '../../platform/ids.ts'
import { metrics, observe } from '../../platform/metrics.ts'
import { DAY } from '../../platform/time.ts'

/** Contacts per transaction, and transactions per schedule and call. Shutdown waits for one transaction. */
const CHUNK = 500
const CHUNKS_MAX = 20

type ScheduleRef = { tenantId: string; workflowId: string; key: string }

export function dueSchedulesSql(before: Date): SqlFragment {
  return sqlFragment`select tenant_id, workflow_id, key, next_at from schedules where next_at <= ${before}`
}

/**
 * Starts the runs of due schedules. Each occurrence starts its runs exactly once: one process locks the schedule and
 * advances it in the same transaction, and the event ID of a run is derived from schedule, time and contact.
 */
export async function fireSchedules(system: SystemScope): Promise<void> {
  let due = await system.acrossTenants<ScheduleRef>('listDueSchedules')`
    select tenant_id, workflow_id, key from (${dueSchedulesSql(system.now())}) due order by next_at`
  // Schedules of large groups alternate, and a failing schedule does not block the others.
  for (let round = 0; due.length > 0 && round < CHUNKS_MAX; round += 1) {
    const unfinished: ScheduleRef[] = []
    for (const ref of due) if (await tryFire(system, ref)) unfinished.push(ref)
    due = unfinished
  }
}

async function tryFire(system: SystemScope, ref: ScheduleRef): Promise<boolean> {
  try {
    return await system.forTenant(ref.tenantId).transaction((tx) => fireChunk(tx, ref))
  } catch (error) {
    system.log.warn({ event: 'schedule_failed', err: error, ...ref }, 'failed to fire a schedule, will retry')
    return false
  }
}

/** Starts the runs of one chunk. Returns true if the same occurrence has more contacts. */
async function fireChunk(tx: Scope, { workflowId, key }: ScheduleRef): Promise<boolean> {
  const schedule = await lockDue(tx, workflowId, key)
  if (!schedule) return false
  const time = occurrenceAt(schedule, tx.now())
  const contacts = time ? await listContacts(tx, schedule) : []
  if (time && schedule.cursor === null) observe(metrics.schedulesLag, {}, tx.now().getTime() - time.getTime())
  if (time) await startChunk(tx, { workflowId, key, time, contacts })
  else
    tx.log.warn(
      { event: 'schedule_skipped', workflowId, missedAt: schedule.nextAt },
      'skipped a schedule that is too late',
    )
  const isUnfinished = schedule.groupId !== null && contacts.length === CHUNK
  const nextAt = isUnfinished ? time : occurrenceAfter(schedule, time ?? tx.now())
  const cursor = isUnfinished ? contacts.at(-1) : null
  await tx.sql('moveSchedule')`
    update schedules set next_at = ${nextAt ?? null}, cursor = ${cursor ?? null}
    where tenant_id = ${tx.tenantId} and workflow_id = ${workflowId} and key = ${key}`
  return isUnfinished
}

type Chunk = { workflowId: string; key: string; time: Date; contacts: (string | null)[] }

async function startChunk(tx: Scope, { workflowId, key, time, contacts }: Chunk): Promise<void> {
  const scheduledFor = time.toISOString()
  await startRuns(
    tx,
    contacts.map((contactId) => ({
      workflowId,
      trigger: { type: 'schedule', scheduledFor },
      contactId,
      startedBy: { type: 'trigger', id: null },
      eventId: deriveId([workflowId, key, scheduledFor, contactId].join(), 0, time.getTime()),
    })),
  )
}

async function lockDue(tx: Scope, workflowId: string, key: string): Promise<DueSchedule | undefined> {
  const [schedule] = await tx.sql<DueSchedule>('lockDue')`
    select cron, at, timezone, group_id, next_at, cursor from schedules
     where tenant_id = ${tx.tenantId} and workflow_id = ${workflowId} and key = ${key} and next_at <= ${tx.now()}
       and ${isOpenSql(tx.tenantId)} for update skip locked`
  return schedule
}

/** Lists the next contacts of a group by ID, so that the last one is the cursor. Without a group, one run has no contact. */
async function listContacts(tx: Scope, { groupId, cursor }: DueSchedule): Promise<(string | null)[]> {
  if (groupId === null) return [null]
  const rows = await tx.sql<{ contactId: string }>('listGroupContacts')`
    select contact_id from group_contacts
    where tenant_id = ${tx.tenantId} and group_id = ${groupId} and contact_id > ${cursor ?? NIL_ID}
    order by contact_id limit ${CHUNK}`
  return rows.map(({ contactId }) => contactId)
}

type DueSchedule = {
  cron: string | null
  at: Date | null
  timezone: string
  groupId: string | null
  nextAt: Date
  cursor: string | null
}

/** Occurrences that are later than this are skipped, since their messages would be outdated. */
const LATENESS_MS_MAX = DAY

/**
 * Returns the occurrence to start now; undefined if it is too late. Of several missed occurrences only the latest is
 * started, except that one already in progress is completed first.
 */
function occurrenceAt({ cron, timezone, nextAt, cursor }: DueSchedule, now: Date): Date | undefined {
  const latest = cron === null || cursor !== null ? undefined : latestOccurrence(cron, timezone, now)
  const time = latest && latest > nextAt ? latest : nextAt
  return now.getTime() - time.getTime() < LATENESS_MS_MAX ? time : undefined
}

function occurrenceAfter({ cron, timezone }: DueSchedule, time: Date): Date | null {
  return cron === null ? null : (nextOccurrence(cron, timezone, time) ?? null)
}
