import { raw } from 'objection'
import { definitionHash } from '../../engine/compile/definition-hash.ts'
import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import type { Scope } from '../../scope.ts'
import type { Workflow, WorkflowWithDefinition } from './schema.ts'

type Row = WorkflowRow & { publishedHash: string | null }

const PUBLISHED_HASH = raw(`(
  select v.hash from workflow_versions v
  where v.tenant_id = workflows.tenant_id and v.workflow_id = workflows.id and v.version = workflows.version)
  as published_hash`)

export function workflowQuery(scope: Scope) {
  return scope.query(WorkflowRow).select('workflows.*', PUBLISHED_HASH)
}

export function toWorkflow(row: WorkflowRow): Workflow {
  const { draft, publishedHash, ...workflow } = row as Row
  return { ...workflow, hasUnpublishedChanges: publishedHash !== definitionHash(draft) }
}

export function toWorkflowWithDefinition(row: WorkflowRow): WorkflowWithDefinition {
  return { ...toWorkflow(row), definition: row.draft }
}
