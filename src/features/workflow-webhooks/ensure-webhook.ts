import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'

/** Creates the webhook of a workflow with a webhook trigger. Its address never changes. */
export async function ensureWebhook(tx: Scope, workflowId: string, { triggers }: CompiledDefinition): Promise<void> {
  if (!triggers.some(({ type }) => type === 'webhook')) return
  await tx
    .db('workflow_webhooks')
    .insert({ tenant_id: tx.tenantId, workflow_id: workflowId, id: newId(), created_at: tx.now() })
    .onConflict(['tenant_id', 'workflow_id'])
    .ignore()
}
