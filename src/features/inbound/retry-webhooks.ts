import type { Inbound } from '../../channels/channel.ts'
import { isTransient } from '../../platform/database/database.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { ConflictError, InvalidError, NotFoundError } from '../../platform/errors.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { loadChannel } from '../channels/load-channel.ts'
import { describeFailure } from '../dead-letters/store-dead-letter.ts'
import { retryAt, toOutcome, TRANSIENT_DELAY_MS } from '../provider-webhooks/keep-webhooks.ts'
import { loadWebhook, toProviderWebhook } from '../provider-webhooks/queries.ts'
import type { ProviderWebhook, ProviderWebhookRef } from '../provider-webhooks/schema.ts'
import type { InboundChannel } from './find-inbound-channel.ts'
import { storeCall, storeParts } from './store-parts.ts'

const BATCH = 20

type DueWebhook = { tenantId: string; id: string; channelId: string; dueAt: Date; attempts: number }

export function dueWebhookCallsSql(before: Date): SqlFragment {
  return sqlFragment`select tenant_id, id, channel_id, due_at, attempts from channel_webhooks where due_at <= ${before}`
}

/** Processes kept webhook calls whose next attempt is due. Concurrent runs process different ones. */
export async function retryWebhooks(system: SystemScope): Promise<void> {
  const due = await system.acrossTenants<DueWebhook>('listDueWebhooks')`
    select w.* from (${dueWebhookCallsSql(system.now())}) w
    where ${system.deletedWorkspaces.exceptSql('w')} order by w.due_at limit ${BATCH}`
  await forEachTenant(due, { log: system.log, task: 'retry webhooks' }, async (tenantId) => {
    const scope = system.forTenant(tenantId)
    for (const webhook of due) {
      if (webhook.tenantId === tenantId && (await claim(scope, webhook))) await retryWebhook(scope, webhook)
    }
  })
}

/** Counts the attempt before it is made, so that a call that ends its process is not repeated forever. */
async function claim(scope: Scope, { id, dueAt, attempts }: DueWebhook): Promise<boolean> {
  const next = retryAt(scope, attempts + 1)
  const claimed = await scope.sql('claimWebhook')`
    update channel_webhooks set attempts = attempts + 1, due_at = ${next}, status = ${next ? 'pending' : 'failed'}
     where tenant_id = ${scope.tenantId} and id = ${id} and due_at = ${dueAt} returning id`
  return claimed.length > 0
}

async function retryWebhook(scope: Scope, { id, channelId }: DueWebhook): Promise<void> {
  try {
    const { status } = await processKept(scope, { channelId, webhookId: id })
    if (status === 'failed') await scope.record({ type: 'channel.webhook_failed', data: { channelId, webhookId: id } })
  } catch (error) {
    // The channel was deleted, with its webhooks.
    if (!(error instanceof NotFoundError)) throw error
  }
}

/**
 * Processes a kept webhook call again, whatever its status. Parts that are stored already change nothing.
 * @throws NotFoundError; ConflictError `webhook_body_not_kept`
 */
export async function reprocessWebhook(scope: Scope, ref: ProviderWebhookRef): Promise<ProviderWebhook> {
  const row = await processKept(scope, ref)
  return toProviderWebhook({ ...row, bytes: row.body.length })
}

async function processKept(scope: Scope, ref: ProviderWebhookRef) {
  const row = await loadWebhook(scope, ref)
  if (row.body.length === 0) {
    const message = 'The body of this call was not kept, as the workspace had kept those of too many calls on this day'
    throw new ConflictError('webhook_body_not_kept', message)
  }
  const channel = await loadChannel(scope, ref.channelId)
  const changes = await storeAgain({ scope, channel }, row.body).then(
    (inbound) => ({ status: 'processed' as const, outcome: toOutcome(inbound), error: null, dueAt: null }),
    (error: unknown) => {
      scope.log.warn(
        { event: 'webhook_failed', err: error, channelId: channel.id, webhookId: row.id },
        'a webhook could not be processed again',
      )
      const failure = { error: describeFailure(error) }
      if (isTransient(error)) {
        const dueAt = row.dueAt ?? addMs(scope.now(), TRANSIENT_DELAY_MS)
        return { ...failure, status: 'pending' as const, dueAt }
      }
      const status = error instanceof InvalidError ? ('rejected' as const) : toFailedStatus(row.status)
      return { ...failure, status }
    },
  )
  const changed = { ...row, ...changes }
  return scope.transaction(async (tx) => {
    await tx.sql('keepAttempt')`
      update channel_webhooks set status = ${changed.status}, outcome = ${JSON.stringify(changed.outcome)},
        error = ${JSON.stringify(changed.error)}, due_at = ${changed.dueAt}
      where tenant_id = ${tx.tenantId} and id = ${row.id}`
    return changed
  })
}

async function storeAgain(target: InboundChannel, body: Buffer): Promise<Inbound> {
  const inbound = target.channel.adapter.parse(body)
  await storeCall(inbound, undefined, async (kind, parts) => (await storeParts(target, kind, [parts]))[0])
  return inbound
}

/** A failed attempt leaves a call that is retried in the background to its next attempt. */
function toFailedStatus(status: ProviderWebhook['status']): 'pending' | 'failed' {
  return status === 'pending' ? 'pending' : 'failed'
}
