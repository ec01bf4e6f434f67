import { AiProvider as ProviderRow } from '../../models/automation.ts'
import { InvalidError, NotFoundError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { assertCallable } from '../../platform/outbound/check-url.ts'
import type { Scope } from '../../scope/scope.ts'
import { getAiProvider, sealContext } from './queries.ts'
import type { AiProvider, PutAiProvider } from './schema.ts'

/** Creates or replaces the provider; a workspace has at most one. */
export function putAiProvider(scope: Scope, { baseUrl, model, apiKey }: PutAiProvider): Promise<AiProvider> {
  const address = normalizeBaseUrl(baseUrl, scope.allowsLoopback)
  return scope.transaction(async (tx) => {
    const now = tx.now()
    await tx
      .query(ProviderRow)
      .insert({ id: newId(), baseUrl: address, model, sealedKey: null, createdAt: now, updatedAt: now })
      .onConflict('tenant_id')
      .ignore()
    const existing = await tx.query(ProviderRow).first().forUpdate().throwIfNotFound()
    if (apiKey === undefined) assertSameOrigin(existing, address)
    await tx
      .query(ProviderRow)
      .findOne('id', existing.id)
      .patch({ baseUrl: address, model, ...sealKey(tx, existing.id, apiKey), updatedAt: now })
    return getAiProvider(tx)
  })
}

/** Deletes the provider and its key. Steps that need a model fail until another provider is set. */
export function deleteAiProvider(scope: Scope): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const deleted = await tx.query(ProviderRow).delete()
    if (deleted === 0) throw new NotFoundError('AI provider')
    return {}
  })
}

function sealKey(tx: Scope, id: string, apiKey: string | null | undefined): { sealedKey?: Buffer | null } {
  if (apiKey === undefined) return {}
  return { sealedKey: apiKey === null ? null : tx.secrets.seal(apiKey, sealContext(tx.tenantId, id)) }
}

/** Requires the key for another host: otherwise, an admin who does not know the key could send it there. */
function assertSameOrigin({ sealedKey, baseUrl }: ProviderRow, address: string): void {
  const isMoved = new URL(baseUrl).origin !== new URL(address).origin
  if (sealedKey && isMoved) throw fieldError('apiKey', 'is required, because the URL has another host')
}

function normalizeBaseUrl(text: string, allowsLoopback: boolean): string {
  const url = assertCallable(text, 'baseUrl', { allowsLoopback })
  if (url.search || url.hash) throw fieldError('baseUrl', 'must have neither a query nor a fragment')
  if (url.protocol !== 'https:' && !allowsLoopback) throw fieldError('baseUrl', 'must start with https://')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

function fieldError(path: string, message: string): InvalidError {
  return new InvalidError(`${path} ${message}`, [{ path, message }])
}
