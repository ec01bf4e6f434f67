import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { WorkflowWebhook as HookRow } from '../../models/automation/workflow-webhook.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'

export type Hook = { webhookPath: string; rotatedAt: Date | null; createdAt: Date }

/** The secret is not part of it: it is shown when it is made, and never again. */
export async function getWebhook(scope: Scope, { workflowId }: { workflowId: string }): Promise<Hook> {
  await scope.get(WorkflowRow, workflowId)
  const hook = await scope.query(HookRow).findOne({ workflowId })
  if (!hook) throw new NotFoundError('Webhook')
  return { webhookPath: webhookPath(hook), rotatedAt: hook.rotatedAt, createdAt: hook.createdAt }
}

export function webhookPath({ id }: { id: string }): string {
  return `/inbound/hooks/${id}`
}
