import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { WorkflowWebhook as HookRow } from '../../models/automation/workflow-webhook.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { webhookPath } from './get-webhook.ts'
import { newWebhookSecret } from './webhook-secret.ts'

/** Makes the secret anew. Whoever still signs with the one before is refused from now on. */
export function rotateSecret(
  scope: Scope,
  { workflowId }: { workflowId: string },
): Promise<{ webhookPath: string; secret: string }> {
  return scope.transaction(async (tx) => {
    await tx.get(WorkflowRow, workflowId)
    const hook = await tx.query(HookRow).findOne({ workflowId }).forUpdate()
    if (!hook) throw new NotFoundError('Webhook')
    const { secret, sealed } = newWebhookSecret(tx.secrets, hook)
    await tx.query(HookRow).findOne('id', hook.id).patch({ secret: sealed, rotatedAt: tx.now() })
    return { webhookPath: webhookPath(hook), secret }
  })
}
