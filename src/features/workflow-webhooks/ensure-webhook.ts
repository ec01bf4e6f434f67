import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'

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
