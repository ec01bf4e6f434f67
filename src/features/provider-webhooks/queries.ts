import { Channel, ChannelWebhook } from '../../models/messaging.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { cursorAfter, parseCursor } from '../paging/cursor.ts'
import { NEWEST_FIRST } from '../paging/read-page.ts'
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
  { channelId, limit, status, cursor }: ListProviderWebhooks,
): Promise<ProviderWebhooks> {
  await scope.get(Channel, channelId)
  const { sort, kind } = NEWEST_FIRST
  const newer = cursor === undefined ? undefined : parseCursor(cursor, sort, kind)
  const rows = await scope.sql<Row>('listProviderWebhooks')`
    select id, channel_id, status, outcome, error, attempts, due_at, octet_length(body) as bytes, created_at
     from channel_webhooks
     where tenant_id = ${scope.tenantId} and channel_id = ${channelId} and ${statusCondition(status)}
       and (${newer?.id ?? null}::uuid is null or (created_at, id) < (${newer?.value ?? null}::timestamptz, ${newer?.id ?? null}::uuid))
     order by created_at desc, id desc limit ${limit + 1}`
  const items = rows.slice(0, limit)
  const last = rows.length > limit ? items.at(-1) : undefined
  return { items: items.map(toProviderWebhook), ...(last ? { nextCursor: cursorAfter(last) } : {}) }
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
