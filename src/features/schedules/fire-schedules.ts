import { deriveId } from '../../engine/model/derive-id.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { startRuns } from '../runs/start-runs.ts'
import { type DueSchedule, occurrenceAfter, occurrenceAt } from './schedule-occurrences.ts'

/** How many members of a group are begun at a time, and how often in a round: a process that stops waits for one. */
const CHUNK = 500
const CHUNKS_MAX = 20

type Ref = { tenantId: string; workflowId: string; key: string }

/**
 * Starts what is due. A moment begins once, whoever sees it and however often: its row is taken by one, moves on in the
 * same transaction, and every run is named by schedule, moment and contact.
 */
export async function fireSchedules(system: SystemScope): Promise<void> {
  const { rows } = await system.db.raw<{ rows: Ref[] }>(
    `select tenant_id as "tenantId", workflow_id as "workflowId", key from schedules
     where next_at <= ? order by next_at`,
    [system.now()],
  )
  // Large groups take turns, and what fails keeps nobody waiting.
  let due = rows
  for (let turn = 0; due.length > 0 && turn < CHUNKS_MAX; turn += 1) {
    const unfinished: Ref[] = []
    for (const ref of due) if (await tryFire(system, ref)) unfinished.push(ref)
    due = unfinished
  }
}

async function tryFire(system: SystemScope, ref: Ref): Promise<boolean> {
  try {
    return await system.forTenant(ref.tenantId).transaction((tx) => fireChunk(tx, ref))
  } catch (error) {
    system.log.warn({ err: error, ...ref }, 'schedule failed, it comes round again')
    return false
  }
}

/** Whether there is more to do for the same moment. */
async function fireChunk(tx: Scope, { workflowId, key }: Ref): Promise<boolean> {
  const schedule = await takeDue(tx, workflowId, key)
  if (!schedule) return false
  const moment = occurrenceAt(schedule, tx.now())
  const contacts = moment ? await contactsOf(tx, schedule) : []
  if (moment) await start(tx, { workflowId, key, moment, contacts })
  else tx.log.warn({ workflowId, missedAt: schedule.nextAt }, 'schedule passed over, its moment is too long ago')
  const isUnfinished = schedule.groupId !== null && contacts.length === CHUNK
  await tx
    .db('schedules')
    .where({ tenant_id: tx.tenantId, workflow_id: workflowId, key })
    .update(
      isUnfinished
        ? { next_at: moment, cursor: contacts.at(-1) }
        : {
            next_at: occurrenceAfter(schedule, moment ?? tx.now()),
            cursor: null,
          },
    )
  return isUnfinished
}

type Chunk = { workflowId: string; key: string; moment: Date; contacts: (string | null)[] }

async function start(tx: Scope, { workflowId, key, moment, contacts }: Chunk): Promise<void> {
  const scheduledFor = moment.toISOString()
  await startRuns(
    tx,
    contacts.map((contactId) => ({
      workflowId,
      trigger: { type: 'schedule', scheduledFor },
      contactId,
      startedBy: { type: 'trigger', id: null },
      eventId: deriveId([workflowId, key, scheduledFor, contactId].join(), 0, moment.getTime()),
    })),
  )
}

async function takeDue(tx: Scope, workflowId: string, key: string): Promise<DueSchedule | undefined> {
  const { rows } = await tx.db.raw<{ rows: DueSchedule[] }>(
    `select cron, at, timezone, group_id as "groupId", next_at as "nextAt", cursor from schedules
     where tenant_id = ? and workflow_id = ? and key = ? and next_at <= ? for update skip locked`,
    [tx.tenantId, workflowId, key, tx.now()],
  )
  return rows[0]
}

/** The members in the order of their ids, so that the last one tells how far it went. Without a group: nobody, once. */
async function contactsOf(tx: Scope, { groupId, cursor }: DueSchedule): Promise<(string | null)[]> {
  if (groupId === null) return [null]
  const members = tx.db('group_contacts').where({ tenant_id: tx.tenantId, group_id: groupId })
  if (cursor !== null) void members.andWhere('contact_id', '>', cursor)
  return members.orderBy('contact_id').limit(CHUNK).pluck('contact_id')
}
