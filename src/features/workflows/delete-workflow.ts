import { Workflow as WorkflowRow, WorkflowWebhook as WebhookRow } from '../../models/automation.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { WorkflowRef } from './schema.ts'

/** Deletes a workflow that never ran, since runs refer to their version. One that was published must be archived first. */
export function deleteWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    if (workflow.version !== null && workflow.status !== 'archived') {
      throw new ConflictError(
        'workflow_already_published',
        'A workflow that was published cannot be deleted. Archive it first; it can then be deleted if it never ran',
      )
    }
    const runs = await tx.sql('findRunOfWorkflow')`
      select from runs where tenant_id = ${tx.tenantId} and workflow_id = ${workflow.id} limit 1`
    if (runs.length > 0) {
      throw new ConflictError('workflow_has_runs', 'A workflow that has runs cannot be deleted. Archive it instead')
    }
    await deleteWebhookRoute(tx, workflowId)
    await tx.query(WorkflowRow).delete().where('id', workflowId)
    await tx.record({ type: 'workflow.deleted', data: { workflowId } })
    return {}
  })
}

async function deleteWebhookRoute(tx: Scope, workflowId: string): Promise<void> {
  const webhook = await tx.query(WebhookRow).findOne({ workflowId })
  if (webhook) await tx.sql('deleteWebhookRoute')`delete from workflow_webhook_routes where webhook_id = ${webhook.id}`
}
