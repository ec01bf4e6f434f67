import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { deleteMessages, deleteRuns } from '../automation/delete-history.ts'
import type { Retention } from './schema.ts'

/** A position in the walk over the rows of a table, oldest first. */
type Position = { id: string; createdAt: Date }

/** Numbers of deleted rows by table. `next` is null behind the last row that is old enough. */
export type Portion = { deleted: Record<string, number>; next: Position | null }

type Walk = { before: Date; after: Position | null }

export type Expiry = (tx: Scope, walk: Walk) => Promise<Portion>

const UNFINISHED_MESSAGE = sqlFragment`('scheduled', 'queued', 'sending')`
const UNFINISHED_RUN = sqlFragment`('queued', 'running', 'waiting')`

/** Deletes a portion of the old rows of each kind. What is unfinished, or locked by another transaction, is passed over. */
export const EXPIRIES: Record<keyof Retention, Expiry> = {
  messages: expireMessages,
  runs: expireRuns,
  messageStatuses: expireStatuses,
  aiTranscripts: expireTranscripts,
  events: expireEvents,
  auditEvents: expireAuditEvents,
}

/** Lists rows whose IDs sort by time. */
async function listById(tx: Scope, table: SqlFragment, { before, after }: Walk): Promise<[string[], Position | null]> {
  const rows = await tx.sql<Position>('listExpiredById')`
    select id, created_at from ${table}
    where tenant_id = ${tx.tenantId} and (${after?.id ?? null}::uuid is null or id > ${after?.id ?? null})
    order by id limit ${tx.portions.retention}`
  const last = rows.at(-1)
  const isDone = !last || rows.length < tx.portions.retention || last.createdAt >= before
  return [rows.filter(({ createdAt }) => createdAt < before).map(({ id }) => id), isDone ? null : last]
}

async function listByTime(
  tx: Scope,
  { table, id }: { table: SqlFragment; id: SqlFragment },
  { before, after }: Walk,
): Promise<[string[], Position | null]> {
  const [at, afterId] = [after?.createdAt ?? null, after?.id ?? null]
  const rows = await tx.sql<Position>('listExpiredByTime')`
    select ${id} as id, created_at from ${table}
    where tenant_id = ${tx.tenantId} and created_at < ${before}
      and (${at}::timestamptz is null or (created_at, ${id}) > (${at}::timestamptz, ${afterId}::uuid))
    order by created_at, ${id} limit ${tx.portions.retention}`
  return [rows.map((row) => row.id), rows.length < tx.portions.retention ? null : (rows.at(-1) ?? null)]
}

/** Deletes messages with their statuses. Those that wait, or of a run or broadcast that is not finished, stay. */
async function expireMessages(tx: Scope, walk: Walk): Promise<Portion> {
  const [ids, next] = await listById(tx, sqlFragment`messages`, walk)
  const rows = await tx.sql<{ id: string }>('lockExpiredMessages')`
    select m.id from messages m
    where m.tenant_id = ${tx.tenantId} and m.id = any(${ids}) and m.status not in ${UNFINISHED_MESSAGE}
      and not exists (select from outbox o where o.tenant_id = ${tx.tenantId} and o.message_id = m.id)
      and not exists (
        select from mailbox_items i where i.tenant_id = ${tx.tenantId} and i.mailbox_id = m.conversation_id)
      and not exists (
        select from runs r where r.tenant_id = ${tx.tenantId} and r.id = m.run_id and r.status in ${UNFINISHED_RUN})
      and not exists (
        select from broadcasts b where b.tenant_id = ${tx.tenantId} and b.id = m.broadcast_id
          and b.status in ('preparing', 'sending', 'paused'))
    order by m.id for update of m skip locked`
  const finished = rows.map(({ id }) => id)
  if (finished.length > 0) await deleteMessages(tx, finished)
  return { deleted: { messages: finished.length }, next }
}

/** Deletes runs with their steps. A run stays until the runs that it started, and its messages, are gone or finished. */
async function expireRuns(tx: Scope, walk: Walk): Promise<Portion> {
  const [ids, next] = await listByTime(tx, { table: sqlFragment`runs`, id: sqlFragment`id` }, walk)
  const rows = await tx.sql<{ id: string }>('lockExpiredRuns')`
    select r.id from runs r
    where r.tenant_id = ${tx.tenantId} and r.id = any(${ids}) and r.status not in ${UNFINISHED_RUN}
      and r.finished_at < ${walk.before}
      and not exists (select from runs child where child.tenant_id = ${tx.tenantId} and child.parent_run_id = r.id)
      and not exists (
        select from messages m where m.tenant_id = ${tx.tenantId} and m.run_id = r.id and m.status in ${UNFINISHED_MESSAGE})
    order by r.id for update of r skip locked`
  const finished = rows.map(({ id }) => id)
  if (finished.length === 0) return { deleted: {}, next }
  const steps = await tx.sql('deleteExpiredSteps')`
    delete from run_steps where tenant_id = ${tx.tenantId} and run_id = any(${finished}) returning 1`
  await deleteRuns(tx, finished)
  return { deleted: { runs: finished.length, run_steps: steps.length }, next }
}

async function expireStatuses(tx: Scope, walk: Walk): Promise<Portion> {
  const [ids, next] = await listById(tx, sqlFragment`message_statuses`, walk)
  const deleted = await tx.sql('deleteExpiredStatuses')`
    delete from message_statuses s
    where s.tenant_id = ${tx.tenantId} and s.id = any(${ids}) and not exists (
      select from messages m where m.tenant_id = ${tx.tenantId} and m.id = s.message_id and m.status in ${UNFINISHED_MESSAGE})
    returning 1`
  return { deleted: { message_statuses: deleted.length }, next }
}

async function expireTranscripts(tx: Scope, walk: Walk): Promise<Portion> {
  const [ids, next] = await listByTime(tx, { table: sqlFragment`ai_transcripts`, id: sqlFragment`run_id` }, walk)
  const deleted = await tx.sql('deleteExpiredTranscripts')`
    delete from ai_transcripts t
    where t.tenant_id = ${tx.tenantId} and t.run_id = any(${ids}) and t.updated_at < ${walk.before} and not exists (
      select from runs r where r.tenant_id = ${tx.tenantId} and r.id = t.run_id and r.status in ${UNFINISHED_RUN})
    returning 1`
  return { deleted: { ai_transcripts: deleted.length }, next }
}

async function expireEvents(tx: Scope, walk: Walk): Promise<Portion> {
  const [ids, next] = await listById(tx, sqlFragment`events`, walk)
  const deleted = await tx.sql('deleteExpiredEvents')`
    delete from events where tenant_id = ${tx.tenantId} and id = any(${ids}) and position is not null returning 1`
  return { deleted: { events: deleted.length }, next }
}

async function expireAuditEvents(tx: Scope, walk: Walk): Promise<Portion> {
  const [ids, next] = await listByTime(tx, { table: sqlFragment`audit_events`, id: sqlFragment`id` }, walk)
  const deleted = await tx.sql('deleteExpiredAuditEvents')`
    delete from audit_events where tenant_id = ${tx.tenantId} and id = any(${ids}) returning 1`
  return { deleted: { audit_events: deleted.length }, next }
}
