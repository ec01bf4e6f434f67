import { webhook, type WebhookTrigger } from '../../triggers/webhook.ts'
import { ConflictError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import { workflowTimezone } from '../automation/workflow-zone.ts'
import { openWebhookSecret } from './webhook-secret.ts'

export type WorkflowWebhookMatch = { tenantId: string; workflowId: string; id: string; createdAt: Date; secret: string }

type Row = { id: string; tenant_id: string; workflow_id: string; secret: Buffer; created_at: Date }

/** A hook whose secret nobody has asked for is not there yet. */
export async function findWebhookByToken(system: SystemScope, id: string): Promise<WorkflowWebhookMatch | undefined> {
  if (!isUuid(id)) return undefined
  const hook = await system
    .db('workflow_webhooks')
    .where({ id })
    .whereNotNull('secret')
    .first<Row | undefined>('id', 'tenant_id', 'workflow_id', 'secret', 'created_at')
  if (!hook) return undefined
  const place = { tenantId: hook.tenant_id, id: hook.id }
  const secret = openWebhookSecret(system.secrets, hook.secret, place)
  return { ...place, workflowId: hook.workflow_id, createdAt: hook.created_at, secret }
}

/** @throws ConflictError if the workflow is not published, or its published version has no webhook any more */
export async function findWebhook(
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
