import { WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import { ForbiddenError, InvalidError, NotFoundError } from '../../platform/errors.ts'
import { definedFields, listChanged } from '../../platform/fields.ts'
import { newId } from '../../platform/ids.ts'
import { assertCallable } from '../../platform/outbound/check-url.ts'
import { addMs, DAY } from '../../platform/time.ts'
import { toSender } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { lastPosition } from '../live/event-feed.ts'
import { forgetBodies, giveUpWaiting } from './deliveries.ts'
import { ENDPOINTS_KEY } from './jobs.ts'
import { getEndpoint, getWebhookEndpoint, toWebhookEndpoint } from './queries.ts'
import { listReadScopes } from './resources.ts'
import type {
  CreateWebhookEndpoint,
  RotateEndpointSecret,
  UpdateWebhookEndpoint,
  WebhookEndpoint,
  WebhookEndpointRef,
  WebhookEndpointWithSecret,
} from './schema.ts'
import { newEndpointSecret } from './signatures.ts'

const OVERLAP_DEFAULT = DAY
const NO_SECRET = Buffer.alloc(0)

/**
 * Creates an endpoint, which gets the events from now on.
 * @throws InvalidError for an address that is not called, ForbiddenError for a key that may not read what is sent,
 * ConflictError `too_many_webhook_endpoints`
 */
export async function createWebhookEndpoint(
  scope: Scope,
  input: CreateWebhookEndpoint,
): Promise<WebhookEndpointWithSecret> {
  assertReceiver(scope, input.url)
  assertMayRead(scope, input)
  const position = await lastPosition(scope)
  return scope.transaction(async (tx) => {
    await assertRowLimit(tx, 'webhookEndpoints')
    const id = newId()
    const { secret, sealed } = newEndpointSecret(tx.secrets, { tenantId: tx.tenantId, id })
    const now = tx.now()
    await tx.query(EndpointRow).insert({
      ...input,
      id,
      secret: sealed,
      status: 'enabled',
      position,
      createdBy: toSender(tx.actor),
      createdAt: now,
      updatedAt: now,
    })
    await recordChange(tx, 'created', id)
    return { ...(await getWebhookEndpoint(tx, { webhookEndpointId: id })), secret }
  })
}

/**
 * Changes an endpoint. One that is enabled again gets the events from then on.
 * @throws InvalidError, ForbiddenError as above
 */
export async function updateWebhookEndpoint(
  scope: Scope,
  { webhookEndpointId, status, ...input }: UpdateWebhookEndpoint,
): Promise<WebhookEndpoint> {
  if (input.url !== undefined) assertReceiver(scope, input.url)
  // An endpoint that does not exist numbers no events.
  if (status === 'enabled') await getEndpoint(scope, webhookEndpointId)
  const position = status === 'enabled' ? await lastPosition(scope) : 0
  return scope.transaction(async (tx) => {
    const { id, ...existing } = await lockEndpoint(tx, webhookEndpointId)
    tx.audit?.compareWith(existing)
    const changes = definedFields(input)
    const hasChanges = Object.keys(changes).length > 0
    if (hasChanges || status === 'enabled') {
      // What waits was for the present types.
      assertMayRead(tx, existing)
      assertMayRead(tx, { ...existing, ...changes })
    }
    const isEnabled = status === 'enabled' && existing.status === 'disabled'
    const isDisabled = status === 'disabled' && existing.status === 'enabled'
    const columns = {
      ...changes,
      ...(isEnabled ? ENABLED : {}),
      ...(isDisabled ? { status, disabledReason: 'requested' as const } : {}),
    }
    await tx
      .query(EndpointRow)
      .findOne('id', id)
      .patch({
        ...columns,
        // Who sends to it now takes it over again, with the changes.
        ...(hasChanges || isEnabled ? { claimCount: existing.claimCount + 1, leasedUntil: null } : {}),
        ...(isEnabled ? { position: Math.max(position, existing.position) } : {}),
        updatedAt: tx.now(),
      })
    if (isDisabled) await giveUpWaiting(tx, id)
    if (changes.types) await giveUpWaiting(tx, id, changes.types)
    if (changes.url !== undefined || changes.payload !== undefined) await forgetBodies(tx, id)
    if (isDisabled) await recordChange(tx, 'disabled', id)
    else await recordUpdate(tx, { id, ...existing }, columns)
    return getWebhookEndpoint(tx, { webhookEndpointId: id })
  })
}

const ENABLED = {
  status: 'enabled',
  disabledReason: null,
  failingSince: null,
  failedAt: null,
  pausedUntil: null,
  emailDueAt: null,
} as const

/** Replaces the secret. Deliveries are signed with the present one as well until the end of the overlap. */
export async function rotateEndpointSecret(
  scope: Scope,
  { webhookEndpointId, overlap = OVERLAP_DEFAULT }: RotateEndpointSecret,
): Promise<WebhookEndpointWithSecret> {
  return scope.transaction(async (tx) => {
    const { id, secret: previousSecret, previousExpiresAt } = await lockEndpoint(tx, webhookEndpointId)
    const { secret, sealed } = newEndpointSecret(tx.secrets, { tenantId: tx.tenantId, id })
    const now = tx.now()
    const previous =
      overlap > 0
        ? { previousSecret, previousExpiresAt: addMs(now, overlap) }
        : { previousSecret: null, previousExpiresAt: null }
    await tx
      .query(EndpointRow)
      .findOne('id', id)
      .patch({ ...previous, secret: sealed, updatedAt: now })
    tx.forget(ENDPOINTS_KEY)
    const changed = ['secret', ...listChanged({ previousExpiresAt }, { previousExpiresAt: previous.previousExpiresAt })]
    await tx.record({ type: 'webhook_endpoint.updated', data: { webhookEndpointId: id, changed } })
    return { ...(await getWebhookEndpoint(tx, { webhookEndpointId: id })), secret }
  })
}

/** Deletes an endpoint for everybody. Its deliveries, which may be many, are deleted in the background. @throws NotFoundError */
export async function deleteWebhookEndpoint(
  scope: Scope,
  { webhookEndpointId }: WebhookEndpointRef,
): Promise<Record<string, never>> {
  await scope.transaction(async (tx) => {
    const { id } = await lockEndpoint(tx, webhookEndpointId)
    await giveUpWaiting(tx, id)
    const now = tx.now()
    const erased = { secret: NO_SECRET, previousSecret: null, previousExpiresAt: null, url: '', description: null }
    await tx
      .query(EndpointRow)
      .findOne('id', id)
      .patch({
        ...erased,
        status: 'disabled',
        disabledReason: 'requested',
        emailDueAt: null,
        deletedAt: now,
        updatedAt: now,
      })
    await recordChange(tx, 'deleted', id)
  })
  return {}
}

async function lockEndpoint(tx: Scope, endpointId: string): Promise<EndpointRow> {
  const { id } = await getEndpoint(tx, endpointId)
  const locked = await tx.lock(EndpointRow, id)
  if (locked.deletedAt) throw new NotFoundError('Webhook endpoint')
  return locked
}

async function recordChange(tx: Scope, change: 'created' | 'disabled' | 'deleted', id: string) {
  tx.forget(ENDPOINTS_KEY)
  await tx.record({ type: `webhook_endpoint.${change}`, data: { webhookEndpointId: id } })
}

async function recordUpdate(
  tx: Scope,
  existing: Parameters<typeof toWebhookEndpoint>[0],
  columns: Partial<EndpointRow>,
): Promise<void> {
  tx.forget(ENDPOINTS_KEY)
  const now = tx.now()
  const changed = listChanged(toWebhookEndpoint(existing, now), toWebhookEndpoint({ ...existing, ...columns }, now))
  if (changed.length === 0) return
  await tx.record({ type: 'webhook_endpoint.updated', data: { webhookEndpointId: existing.id, changed } })
}

/** Events have personal data, so they are sent encrypted; to the own machine only where that may be called. */
function assertReceiver({ allowsLoopback }: Scope, url: string): void {
  const { protocol } = assertCallable(url, 'url', { allowsLoopback })
  if (protocol === 'https:' || allowsLoopback) return
  throw new InvalidError('url must start with https://', [{ path: 'url', message: 'must start with https://' }])
}

/**
 * Checks that the caller may read what is sent to an endpoint.
 * @throws ForbiddenError for a key without the scopes that reading it needs
 */
export function assertMayRead(
  { actor }: Scope,
  { types, payload }: Pick<CreateWebhookEndpoint, 'types' | 'payload'>,
): void {
  if (actor.type !== 'key') return
  const needed = ['events:read', ...(payload === 'full' ? listReadScopes(types) : [])]
  const missing = needed.filter((scope) => !actor.scopes.has(scope))
  if (missing.length === 0) return
  throw new ForbiddenError(undefined, undefined, { error: 'insufficient_scope', scope: missing.join(' ') })
}
