import { Workflow as WorkflowRow } from '../../models/automation.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { replaceSchedules } from '../schedules/replace-schedules.ts'
import { getWorkflow } from '../workflows/queries.ts'
import type { WorkflowRef, WorkflowWithDefinition } from '../workflows/schema.ts'

/** Stops a workflow from starting new runs. Current runs continue. */
export function unpublishWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  return scope.transaction(async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    if (workflow.status === 'draft' || workflow.status === 'archived') {
      throw new ConflictError('workflow_not_published', 'Only a published workflow can be unpublished')
    }
    if (workflow.status === 'published') {
      await replaceSchedules(tx, workflowId, null)
      await tx.query(WorkflowRow).findOne('id', workflowId).patch({ status: 'paused', updatedAt: tx.now() })
      await tx.record({ type: 'workflow.paused', data: { workflowId } })
    }
    return getWorkflow(tx, { workflowId })
  })
}
