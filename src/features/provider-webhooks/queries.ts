import { Channel, ChannelWebhook } from '../../models/messaging.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import type {
  ListProviderWebhooks,
  ProviderWebhook,
  ProviderWebhookRef,
  ProviderWebhooks,
  ProviderWebhookWithBody,
} from './schema.ts'

type Row = Pick<
  ChannelWebhook,
  'id' | 'channelId' | 'status' | 'outcome' | 'error' | 'attempts' | 'dueAt' | 'createdAt'
> & { bytes: number }

export function toProviderWebhook({ id, channelId, status, outcome, error, attempts, dueAt, bytes, createdAt }: Row) {
  return {
    id,
    channelId,
    status,
    counts: outcome?.counts ?? {},
    unknown: outcome?.unknown ?? [],
    error: error && { code: error.code, message: error.message },
    attempts,
    nextAttemptAt: dueAt,
    bytes,
    createdAt,
  } satisfies ProviderWebhook
}

/**
 * Lists the webhook calls of a channel without their bodies, newest first.
 * @throws NotFoundError
 */
export async function listProviderWebhooks(
  scope: Scope,
  { channelId, limit, status, before }: ListProviderWebhooks,
): Promise<ProviderWebhooks> {
  await scope.get(Channel, channelId)
  const newer = before === undefined ? undefined : await loadWebhook(scope, { channelId, webhookId: before })
  const rows = await scope.sql<Row>('listProviderWebhooks')`
    select id, channel_id, status, outcome, error, attempts, due_at, octet_length(body) as bytes, created_at
     from channel_webhooks
     where tenant_id = ${scope.tenantId} and channel_id = ${channelId} and ${statusCondition(status)}
       and (${newer?.id ?? null}::uuid is null or (created_at, id) < (${newer?.createdAt ?? null}, ${newer?.id ?? null}))
     order by created_at desc, id desc limit ${limit + 1}`
  return { items: rows.slice(0, limit).map(toProviderWebhook), hasMore: rows.length > limit }
}

/** Condition of a status, which the index of webhooks that are not processed serves. */
function statusCondition(status: ListProviderWebhooks['status']): SqlFragment {
  if (status === undefined) return sqlFragment`true`
  return status === 'processed'
    ? sqlFragment`status = ${status}`
    : sqlFragment`status <> 'processed' and status = ${status}`
}

/** @throws NotFoundError */
export async function loadWebhook(scope: Scope, { channelId, webhookId }: ProviderWebhookRef): Promise<ChannelWebhook> {
  const row = await scope.find(ChannelWebhook, webhookId)
  if (row?.channelId !== channelId) throw new NotFoundError('Webhook')
  return row
}

/** @throws NotFoundError */
export async function getProviderWebhook(scope: Scope, ref: ProviderWebhookRef): Promise<ProviderWebhookWithBody> {
  const row = await loadWebhook(scope, ref)
  return { ...toProviderWebhook({ ...row, bytes: row.body.length }), body: row.body.toString('utf8') }
}
