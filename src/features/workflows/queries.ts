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
import { WorkflowVersion as VersionRow } from '../../models/automation/workflow-version.ts'

class WorkflowWithHash extends WorkflowRow {
  declare publishedHash: string | null
}

const PUBLISHED_HASH = raw(`(
  select v.hash from workflow_versions v
  where v.tenant_id = workflows.tenant_id and v.workflow_id = workflows.id and v.version = workflows.version)
  as published_hash`)

function workflowQuery(scope: Scope) {
  return scope.query(WorkflowWithHash).select('workflows.*', PUBLISHED_HASH)
}

function toWorkflow({ draft, publishedHash, ...workflow }: WorkflowWithHash): Workflow {
  return { ...workflow, hasUnpublishedChanges: publishedHash !== definitionHash(draft) }
}

function toWorkflowWithDefinition(row: WorkflowWithHash): WorkflowWithDefinition {
  return { ...toWorkflow(row), definition: row.draft }
}

export async function getWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  const row = isUuid(workflowId) ? await workflowQuery(scope).findOne('id', workflowId) : undefined
  if (!row) throw new NotFoundError('Workflow')
  return toWorkflowWithDefinition(row)
}

export async function listWorkflows(scope: Scope, { status }: ListWorkflows): Promise<{ items: Workflow[] }> {
  const rows = workflowQuery(scope).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  if (status) void rows.where({ status })
  return { items: (await rows).map(toWorkflow) }
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
