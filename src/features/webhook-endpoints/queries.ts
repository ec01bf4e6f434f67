import { WebhookDelivery as DeliveryRow, WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import type { TenantModel } from '../../models/tenant-model.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { readPage } from '../paging/read-page.ts'
import {
  deliveryStatus,
  type ListDeliveries,
  type WebhookDelivery,
  type WebhookDeliveryRef,
  type WebhookEndpoint,
  type WebhookEndpointList,
  type WebhookEndpointRef,
} from './schema.ts'

/** Lists the endpoints of the workspace, newest first. */
export async function listWebhookEndpoints(scope: Scope): Promise<WebhookEndpointList> {
  const rows = await scope
    .query(EndpointRow)
    .whereNull('deletedAt')
    .orderBy([
      { column: 'createdAt', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
  return { items: rows.map((row) => toWebhookEndpoint(row, scope.now())) }
}

/** @throws NotFoundError */
export async function getWebhookEndpoint(
  scope: Scope,
  { webhookEndpointId }: WebhookEndpointRef,
): Promise<WebhookEndpoint> {
  return toWebhookEndpoint(await getEndpoint(scope, webhookEndpointId), scope.now())
}

/** @throws NotFoundError */
export async function getEndpoint(scope: Scope, endpointId: string): Promise<EndpointRow> {
  const row = await scope.find(EndpointRow, endpointId)
  if (!row || row.deletedAt) throw new NotFoundError('Webhook endpoint')
  return row
}

export function toWebhookEndpoint(row: Omit<EndpointRow, keyof TenantModel>, now: Date): WebhookEndpoint {
  const unlessPast = (at: Date | null) => (at && at > now ? at : null)
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    types: row.types,
    payload: row.payload,
    status: row.status,
    disabledReason: row.disabledReason,
    failingSince: row.failingSince,
    pausedUntil: unlessPast(row.pausedUntil),
    gapAt: row.gapAt,
    previousExpiresAt: unlessPast(row.previousExpiresAt),
    createdBy: row.createdBy,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/** Lists what was sent to an endpoint at least once, newest first. @throws NotFoundError */
export async function listDeliveries(
  scope: Scope,
  { webhookEndpointId, status, ...input }: ListDeliveries,
): Promise<Page<WebhookDelivery>> {
  const { id } = await getEndpoint(scope, webhookEndpointId)
  const statuses = status === undefined ? deliveryStatus.options : [status]
  const page = await readPage<DeliveryRow>(
    scope,
    {
      name: 'listDeliveries',
      from: sqlFragment`webhook_deliveries`,
      id: sqlFragment`t.id`,
      conditions: [sqlFragment`t.endpoint_id = ${id}`],
      // The index has those of each status in their order.
      alternatives: statuses.map((each) => sqlFragment`t.status = ${each}`),
      order: { sort: '-id', value: sqlFragment`t.id`, kind: 'id', direction: 'desc' },
      item: { table: sqlFragment`webhook_deliveries`, columns: () => sqlFragment`webhook_deliveries.*` },
    },
    input,
  )
  return { ...page, items: page.items.map(toWebhookDelivery) }
}

/** @throws NotFoundError */
export async function getWebhookDelivery(
  scope: Scope,
  { webhookDeliveryId }: WebhookDeliveryRef,
): Promise<WebhookDelivery> {
  return toWebhookDelivery(await getDelivery(scope, webhookDeliveryId))
}

/** @throws NotFoundError */
export async function getDelivery(scope: Scope, deliveryId: string): Promise<DeliveryRow> {
  const row = await scope.find(DeliveryRow, deliveryId)
  if (!row) throw new NotFoundError('Webhook delivery')
  return row
}

function toWebhookDelivery({ attempts, dueAt, endpointId, ...row }: DeliveryRow): WebhookDelivery {
  return {
    ...row,
    webhookEndpointId: endpointId,
    attempts: attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) })),
    nextAttemptAt: dueAt,
  }
}
