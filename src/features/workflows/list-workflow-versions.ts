import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { WorkflowVersion as VersionRow } from '../../models/automation/workflow-version.ts'
import type { Scope } from '../../scope.ts'
import type { WorkflowRef, WorkflowVersion } from './schema.ts'

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
