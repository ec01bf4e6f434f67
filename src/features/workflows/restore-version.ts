import type { Scope } from '../../scope.ts'
import { getWorkflowVersion } from './queries.ts'
import type { RestoreVersion, WorkflowWithDefinition } from './schema.ts'
import { updateWorkflow } from './update-workflow.ts'

/** Makes the draft what that version was; what is published stays as it is until the next publish. */
export async function restoreVersion(
  scope: Scope,
  { workflowId, version, draftRevision }: RestoreVersion,
): Promise<WorkflowWithDefinition> {
  const { definition } = await getWorkflowVersion(scope, { workflowId, version })
  return updateWorkflow(scope, { workflowId, definition, ...(draftRevision === undefined ? {} : { draftRevision }) })
}
