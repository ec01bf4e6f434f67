import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { Workflow as WorkflowRow, WorkflowWebhook as WebhookRow } from '../../models/automation.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import type { WorkflowRef } from '../workflows/schema.ts'
import { webhookPath } from './queries.ts'
import type { WebhookSecret } from './schema.ts'
import { newWebhookSecret } from './webhook-secret.ts'

/** Creates the webhook of a workflow with a webhook trigger. Its address never changes. */
export async function ensureWebhook(tx: Scope, workflowId: string, { triggers }: CompiledDefinition): Promise<void> {
  if (!triggers.some(({ type }) => type === 'webhook')) return
  const id = newId()
  const created = await tx.sql('createWebhook')`
    insert into workflow_webhooks (tenant_id, workflow_id, id, created_at)
    values (${tx.tenantId}, ${workflowId}, ${id}, ${tx.now()})
    on conflict (tenant_id, workflow_id) do nothing returning id`
  if (created.length === 0) return
  await tx.sql('createWebhookRoute')`
    insert into workflow_webhook_routes (webhook_id, tenant_id) values (${id}, ${tx.tenantId})`
}

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
