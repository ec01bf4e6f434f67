import { webhook, type WebhookTrigger } from '../../triggers/webhook.ts'
import { Workflow as WorkflowRow, WorkflowWebhook as WebhookRow } from '../../models/automation.ts'
import { ConflictError, NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
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
  return (await findTenant(system, id)) !== undefined
}

/** Finds the webhook with an ID in any workspace; one that has no secret yet cannot be called and is not found. */
export async function findCallableWebhook(system: SystemScope, id: string): Promise<CallableWebhook | undefined> {
  const tenantId = await findTenant(system, id)
  const webhook = tenantId === undefined ? undefined : await system.forTenant(tenantId).find(WebhookRow, id)
  if (!webhook?.secret) return undefined
  const { workflowId, createdAt, secret } = webhook
  return {
    tenantId: webhook.tenantId,
    workflowId,
    id: webhook.id,
    createdAt,
    secret: openWebhookSecret(system.secrets, secret, webhook),
  }
}

async function findTenant(system: SystemScope, id: string): Promise<string | undefined> {
  if (!isUuid(id)) return undefined
  const [route] = await system.sql<{ tenantId: string }>('findWebhookRoute')`
    select r.tenant_id from workflow_webhook_routes r join workspaces w on w.id = r.tenant_id
    where r.webhook_id = ${id} and w.deleted_at is null`
  return route?.tenantId
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
  if (!compiled || !trigger) throw notPublishedError()
  return { trigger, timezone: await workflowTimezone(scope, compiled.settings.timezone) }
}

export function notPublishedError(): ConflictError {
  return new ConflictError(
    'workflow_not_published',
    'The workflow is not published with a webhook trigger. Publish it, then call again',
  )
}
