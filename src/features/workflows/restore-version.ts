import type { Scope } from '../../scope/scope.ts'
import { getWorkflowVersion } from './queries.ts'
import type { RestoreVersion, WorkflowWithDefinition } from './schema.ts'
import { updateWorkflow } from './update-workflow.ts'

/** Replaces the draft with a version's definition. The published version stays until the next publish. */
export async function restoreVersion(
  scope: Scope,
  { workflowId, version, draftRevision }: RestoreVersion,
): Promise<WorkflowWithDefinition> {
  const { definition } = await getWorkflowVersion(scope, { workflowId, version })
  return updateWorkflow(scope, { workflowId, definition, ...(draftRevision === undefined ? {} : { draftRevision }) })
}
