import { Workflow as WorkflowRow } from '../../models/workflow.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import type { WorkflowRef } from './schema.ts'

/** What was published once may have runs that point at it, so it stays. */
export function deleteWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    if (workflow.version !== null) {
      throw new ConflictError(
        'workflow_was_published',
        'A workflow that was published cannot be deleted. Unpublish it instead',
      )
    }
    await tx.query(WorkflowRow).delete().where('id', workflowId)
    await tx.record({ type: 'workflow.deleted', data: { workflowId } })
    return {}
  })
}
