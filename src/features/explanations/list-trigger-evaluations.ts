import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import { describeOutcome } from './describe-outcome.ts'
import { findBlockingReasons } from './find-blocking-reasons.ts'
import { EVALUATION_RETENTION_MS } from './purge-evaluations.ts'
import type { Evaluation as StoredEvaluation, EvaluatedEvent } from '../../engine/model/evaluation.ts'
import type { ListTriggerEvaluations, Evaluation, TriggerEvaluations } from './schema.ts'

type Row = {
  at: Date
  event: EvaluatedEvent['event']
  evaluation: StoredEvaluation
  message: { body: string | null; channelId: string } | null
}

/** Why a workflow was not started by a contact: what keeps it from starting now, and what happened and did not start it. */
export async function listTriggerEvaluations(scope: Scope, input: ListTriggerEvaluations): Promise<TriggerEvaluations> {
  const { id: contactId } = await scope.get(ContactRow, input.contactId)
  const workflow = await scope.get(WorkflowRow, input.workflowId)
  const workflowId = workflow.id
  const { limit, offset } = input
  const since = addMs(scope.now(), -EVALUATION_RETENTION_MS)
  const asked = { contactId, workflowId, since }
  const rows = await readEvaluations(scope, { ...asked, limit: limit + 1, offset })
  const { versions, published } = await loadCompiled(scope, workflow, rows)
  const runsStarted = await countRuns(scope, asked)
  const isQuiet = runsStarted === 0 && rows.length === 0 && offset === 0
  return {
    contactId,
    workflowId,
    since,
    runsStarted,
    reasons: await findBlockingReasons(scope, {
      workflow,
      contactId,
      triggers: published?.triggers ?? [],
      since,
      isQuiet,
    }),
    evaluations: rows.slice(0, limit).map((row) => present(row, versions)),
    hasMore: rows.length > limit,
  }
}

type Asked = { contactId: string; workflowId: string; since: Date }

async function readEvaluations(
  scope: Scope,
  { contactId, workflowId, since, limit, offset }: Asked & { limit: number; offset: number },
): Promise<Row[]> {
  const { rows } = await scope.db.raw<{ rows: Row[] }>(
    `select e.created_at as at, e.event, x.value as evaluation,
       case when m.id is not null then jsonb_build_object('body', m.body, 'channelId', m.channel_id) end as message
     from trigger_evaluations e
     cross join lateral jsonb_array_elements(e.evaluations) x
     left join messages m on m.tenant_id = e.tenant_id and m.id = (e.event ->> 'messageId')::uuid
     where e.tenant_id = ? and e.contact_id = ? and e.created_at >= ? and x.value ->> 'workflowId' = ?
     order by e.id desc limit ? offset ?`,
    [scope.tenantId, contactId, since, workflowId, limit, offset],
  )
  return rows
}

async function countRuns(scope: Scope, { contactId, workflowId, since }: Asked): Promise<number> {
  const { rows } = await scope.db.raw<{ rows: { started: number }[] }>(
    `select count(*)::int as started from runs
     where tenant_id = ? and contact_id = ? and workflow_id = ? and created_at >= ? and replay_of is null`,
    [scope.tenantId, contactId, workflowId, since],
  )
  return rows[0]?.started ?? 0
}

async function loadCompiled(
  scope: Scope,
  { id: workflowId, version: current }: WorkflowRow,
  rows: Row[],
): Promise<{ versions: Map<string, CompiledDefinition>; published: CompiledDefinition | undefined }> {
  const numbers = [...rows.map(({ evaluation }) => evaluation.version), ...(current === null ? [] : [current])]
  const versions = await loadVersions(
    scope,
    numbers.map((version) => ({ workflowId, version })),
  )
  return { versions, published: versions.get(`${workflowId}:${current}`) }
}

function present({ at, event, evaluation, message }: Row, versions: Map<string, CompiledDefinition>): Evaluation {
  const { workflowId, version, outcome, detail } = evaluation
  const compiled = versions.get(`${workflowId}:${version}`)
  const explained = { event, message: message ?? undefined, compiled }
  return { at, event, version, outcome, message: describeOutcome(evaluation, explained), detail }
}
