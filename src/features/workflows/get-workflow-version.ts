import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { WorkflowVersion as VersionRow } from '../../models/automation/workflow-version.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import type { WorkflowVersion, WorkflowVersionRef } from './schema.ts'

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
