import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { EvaluatedEvent, Evaluation as StoredEvaluation } from '../../engine/model/evaluation.ts'
import { Workflow as WorkflowRow } from '../../models/automation.ts'
import { Contact as ContactRow } from '../../models/contacts.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import { parseCursor, toCursor } from '../paging/cursor.ts'
import { purgeTenantRows } from '../retention/purge-rows.ts'
import { describeOutcome } from './describe-outcome.ts'
import { findBlockingReasons } from './find-blocking-reasons.ts'
import type { Evaluation, ListTriggerEvaluations, TriggerEvaluations } from './schema.ts'

type EvaluationRow = {
  id: string
  number: number
  at: Date
  event: EvaluatedEvent['event']
  evaluation: StoredEvaluation
  message: { body: string | null; channelId: string } | null
}

/** Retention of trigger evaluations. */
export const EVALUATION_RETENTION_MS = 7 * DAY

/** Lists why a contact does not start a workflow: what blocks it now, and the recent events that did not start it. */
export async function listTriggerEvaluations(scope: Scope, input: ListTriggerEvaluations): Promise<TriggerEvaluations> {
  const { id: contactId } = await scope.get(ContactRow, input.contactId)
  const workflow = await scope.get(WorkflowRow, input.workflowId)
  const workflowId = workflow.id
  const { limit, offset } = input
  const after = input.cursor === undefined ? undefined : toPosition(input.cursor)
  const since = addMs(scope.now(), -EVALUATION_RETENTION_MS)
  const query = { contactId, workflowId, since }
  const rows = await readEvaluations(scope, { ...query, after, limit: limit + 1, offset })
  const { versions, published } = await loadCompiled(scope, workflow, rows)
  const runsStarted = await countRuns(scope, query)
  const hasNoEvents = runsStarted === 0 && rows.length === 0 && offset === 0 && !after
  const items = rows.slice(0, limit)
  const last = rows.length > limit ? items.at(-1) : undefined
  return {
    contactId,
    workflowId,
    since,
    runsStarted,
    reasons: await findBlockingReasons(scope, {
      workflow,
      contactId,
      compiled: published,
      since,
      hasNoEvents,
    }),
    evaluations: items.map((row) => toEvaluation(row, versions)),
    ...(last ? { nextCursor: toCursor(SORT, { value: String(last.number), id: last.id }) } : {}),
  }
}

/** Deletes old trigger evaluations. */
export async function purgeEvaluations(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -EVALUATION_RETENTION_MS)
  await purgeTenantRows(system, {
    table: sqlFragment`trigger_evaluations`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.created_at < ${oldest}`,
  })
}

type EvaluationQuery = { contactId: string; workflowId: string; since: Date }
type EvaluationPage = { after: { id: string; number: number } | undefined; limit: number; offset: number }

/** Order of evaluations: newest event first, and those of an event in their order. */
const SORT = '-at'

/** @throws InvalidError for a cursor of another list */
function toPosition(cursor: string): { id: string; number: number } {
  const { value, id } = parseCursor(cursor, SORT, 'number')
  return { id, number: Number(value) }
}

async function readEvaluations(
  scope: Scope,
  { contactId, workflowId, since, after, limit, offset }: EvaluationQuery & EvaluationPage,
): Promise<EvaluationRow[]> {
  const isAfter = after
    ? sqlFragment`and (e.id, -x.number) < (${after.id}::uuid, ${-after.number}::bigint)`
    : sqlFragment``
  return await scope.sql<EvaluationRow>('readEvaluations')`
    select e.id, x.number::int as number, e.created_at as at, e.event, x.value as evaluation,
       case when m.id is not null then jsonb_build_object('body', m.body, 'channelId', m.channel_id) end as message
     from trigger_evaluations e
     cross join lateral jsonb_array_elements(e.evaluations) with ordinality x (value, number)
     left join messages m on m.tenant_id = ${scope.tenantId} and m.id = (e.event ->> 'messageId')::uuid
     where e.tenant_id = ${scope.tenantId} and e.contact_id = ${contactId} and e.created_at >= ${since} and x.value ->> 'workflowId' = ${workflowId} ${isAfter}
     order by e.id desc, x.number limit ${limit} offset ${offset}`
}

async function countRuns(scope: Scope, { contactId, workflowId, since }: EvaluationQuery): Promise<number> {
  const [row] = await scope.sql<{ total: number }>('countRuns')`
    select count(*)::int as total from runs
     where tenant_id = ${scope.tenantId} and contact_id = ${contactId} and workflow_id = ${workflowId} and created_at >= ${since} and replay_of is null`
  return row?.total ?? 0
}

async function loadCompiled(
  scope: Scope,
  { id: workflowId, version: current }: WorkflowRow,
  rows: EvaluationRow[],
): Promise<{ versions: Map<string, CompiledDefinition>; published: CompiledDefinition | undefined }> {
  const numbers = [...rows.map(({ evaluation }) => evaluation.version), ...(current === null ? [] : [current])]
  const versions = await loadVersions(
    scope,
    numbers.map((version) => ({ workflowId, version })),
  )
  return { versions, published: versions.get(`${workflowId}:${current}`) }
}

function toEvaluation(
  { at, event, evaluation, message }: EvaluationRow,
  versions: Map<string, CompiledDefinition>,
): Evaluation {
  const { workflowId, version, outcome, detail } = evaluation
  const compiled = versions.get(`${workflowId}:${version}`)
  const context = { event, message: message ?? undefined, compiled }
  return { at, event, version, outcome, message: describeOutcome(evaluation, context), detail }
}
