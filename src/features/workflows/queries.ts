import { raw } from 'objection'
import { definitionHash } from '../../engine/compile/definition-hash.ts'
import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import type { Scope } from '../../scope.ts'
import type {
  Workflow,
  WorkflowWithDefinition,
  WorkflowRef,
  ListWorkflows,
  WorkflowVersion,
  WorkflowVersionRef,
} from './schema.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { listPublishedProblems } from '../automation/published-workflows.ts'
import { WorkflowVersion as VersionRow } from '../../models/automation/workflow-version.ts'

class WorkflowWithHash extends WorkflowRow {
  declare publishedHash: string | null
}

function publishedHash(tenantId: string) {
  return raw(
    `(select v.hash from workflow_versions v
      where v.tenant_id = ? and v.workflow_id = workflows.id and v.version = workflows.version) as published_hash`,
    [tenantId],
  )
}

function workflowQuery(scope: Scope) {
  return scope.query(WorkflowWithHash).select('workflows.*', publishedHash(scope.tenantId))
}

async function toWorkflows(scope: Scope, rows: WorkflowWithHash[]): Promise<Workflow[]> {
  const published = rows.filter(({ status }) => status === 'published')
  const problems = await listPublishedProblems(
    scope,
    published.map(({ id: workflowId, version }) => ({ workflowId, version })),
  )
  return rows.map(({ draft, publishedHash, ...workflow }) => ({
    ...workflow,
    hasUnpublishedChanges: publishedHash !== definitionHash(draft),
    publishedProblems: problems.get(workflow.id) ?? [],
  }))
}

export async function getWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  const row = isUuid(workflowId) ? await workflowQuery(scope).findOne('id', workflowId) : undefined
  const [workflow] = row ? await toWorkflows(scope, [row]) : []
  if (!row || !workflow) throw new NotFoundError('Workflow')
  return { ...workflow, definition: row.draft }
}

export async function listWorkflows(scope: Scope, { status }: ListWorkflows): Promise<{ items: Workflow[] }> {
  const rows = workflowQuery(scope).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  if (status) void rows.where({ status })
  return { items: await toWorkflows(scope, await rows) }
}

const INTEGER_MAX = 2 ** 31 - 1

export async function getWorkflowVersion(
  scope: Scope,
  { workflowId, version }: WorkflowVersionRef,
): Promise<WorkflowVersion> {
  await scope.get(WorkflowRow, workflowId)
  const row = version <= INTEGER_MAX ? await scope.query(VersionRow).findOne({ workflowId, version }) : undefined
  if (!row) throw new NotFoundError('Workflow version')
  return row
}

export async function listWorkflowVersions(
  scope: Scope,
  { workflowId }: WorkflowRef,
): Promise<{ items: Omit<WorkflowVersion, 'definition'>[] }> {
  await scope.get(WorkflowRow, workflowId)
  const items = await scope
    .query(VersionRow)
    .select('workflowId', 'version', 'hash', 'note', 'publishedBy', 'publishedAt')
    .where('workflowId', workflowId)
    .orderBy('version', 'desc')
  return { items }
}
