import { webhook, type WebhookTrigger } from '../../triggers/webhook.ts'
import { WorkflowWebhook as WebhookRow } from '../../models/automation/workflow-webhook.ts'
import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { camelRows } from '../../platform/database/sql.ts'
import { ConflictError, NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import { workflowTimezone } from '../automation/workflow-zone.ts'
import type { WorkflowRef } from '../workflows/schema.ts'
import type { Webhook } from './schema.ts'
import { openWebhookSecret } from './webhook-secret.ts'

/** Leaves out the secret, which is returned only when it is created. */
export async function getWebhook(scope: Scope, { workflowId }: WorkflowRef): Promise<Webhook> {
  await scope.get(WorkflowRow, workflowId)
  const webhook = await scope.query(WebhookRow).findOne({ workflowId })
  if (!webhook) throw new NotFoundError('Webhook')
  return { webhookPath: webhookPath(webhook), rotatedAt: webhook.rotatedAt, createdAt: webhook.createdAt }
}

export function webhookPath({ id }: { id: string }): string {
  return `/inbound/webhooks/${id}`
}

export type CallableWebhook = { tenantId: string; workflowId: string; id: string; createdAt: Date; secret: string }

/** Returns true if a webhook with this ID exists in any workspace, also while it has no secret. */
export async function isWebhook(system: SystemScope, id: string): Promise<boolean> {
  if (!isUuid(id)) return false
  return (await system.db('workflow_webhooks').where({ id }).first('id')) !== undefined
}

/** Finds the webhook with an ID in any workspace; one that has no secret yet cannot be called and is not found. */
export async function findCallableWebhook(system: SystemScope, id: string): Promise<CallableWebhook | undefined> {
  if (!isUuid(id)) return undefined
  const rows = await system
    .db('workflow_webhooks')
    .where({ id })
    .whereNotNull('secret')
    .select<object[]>('id', 'tenant_id', 'workflow_id', 'secret', 'created_at')
  const [webhook] = camelRows<Omit<CallableWebhook, 'secret'> & { secret: Buffer }>(rows)
  return webhook && { ...webhook, secret: openWebhookSecret(system.secrets, webhook.secret, webhook) }
}

/** @throws ConflictError `workflow_not_published`, also if the published version has no webhook trigger */
export async function getWebhookTrigger(
  scope: Scope,
  workflowId: string,
): Promise<{ trigger: WebhookTrigger; timezone: string }> {
  const { status, version } = await scope.get(WorkflowRow, workflowId)
  const versions =
    status === 'published' && version !== null ? await loadVersions(scope, [{ workflowId, version }]) : undefined
  const compiled = versions?.get(`${workflowId}:${version}`)
  const trigger = compiled?.triggers.find(webhook.is)
  if (!compiled || !trigger) {
    throw new ConflictError(
      'workflow_not_published',
      'The workflow is not published with a webhook trigger. Publish it, then call again',
    )
  }
  return { trigger, timezone: await workflowTimezone(scope, compiled.settings.timezone) }
}
