import { Workflow as WorkflowRow, WorkflowWebhook as WebhookRow } from '../../models/automation.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { WorkflowRef } from '../workflows/schema.ts'
import { webhookPath } from './queries.ts'
import type { WebhookSecret } from './schema.ts'
import { newWebhookSecret } from './webhook-secret.ts'

/** Replaces the secret. Calls that use the previous secret are rejected from now on. */
export function rotateSecret(scope: Scope, { workflowId }: WorkflowRef): Promise<WebhookSecret> {
  return scope.transaction(async (tx) => {
    await tx.get(WorkflowRow, workflowId)
    const webhook = await tx.query(WebhookRow).findOne({ workflowId }).forUpdate()
    if (!webhook) throw new NotFoundError('Webhook')
    const { secret, sealed } = newWebhookSecret(tx.secrets, webhook)
    await tx.query(WebhookRow).findOne('id', webhook.id).patch({ secret: sealed, rotatedAt: tx.now() })
    return { webhookPath: webhookPath(webhook), secret }
  })
}
