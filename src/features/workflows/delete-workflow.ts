import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import type { WorkflowRef } from './schema.ts'

/** What was published once goes only from the archive, and only if it never ran: runs keep what they ran on. */
export function deleteWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    if (workflow.version !== null && workflow.status !== 'archived') {
      throw new ConflictError(
        'workflow_already_published',
        'A workflow that was published cannot be deleted. Archive it instead; without runs it can be deleted then',
      )
    }
    if (await tx.db('runs').where({ tenant_id: tx.tenantId, workflow_id: workflowId }).first('id')) {
      throw new ConflictError('workflow_has_runs', 'A workflow that has runs cannot be deleted. Leave it archived')
    }
    await tx.query(WorkflowRow).delete().where('id', workflowId)
    await tx.record({ type: 'workflow.deleted', data: { workflowId } })
    return {}
  })
}
