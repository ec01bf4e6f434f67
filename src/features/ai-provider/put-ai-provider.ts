import { AiProvider as ProviderRow } from '../../models/automation/ai-provider.ts'
import { InvalidError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { assertCallable } from '../../platform/outbound/assert-callable.ts'
import type { Scope } from '../../scope.ts'
import { getAiProvider, sealContext } from './queries.ts'
import type { AiProvider, PutAiProvider } from './schema.ts'

/** A workspace has one provider: the first call brings it, later ones change it. */
export function putAiProvider(scope: Scope, { baseUrl, model, apiKey }: PutAiProvider): Promise<AiProvider> {
  const address = vetBaseUrl(baseUrl, scope.allowsLoopback)
  return scope.transaction(async (tx) => {
    const now = tx.now()
    await tx
      .query(ProviderRow)
      .insert({ id: newId(), baseUrl: address, model, sealedKey: null, createdAt: now, updatedAt: now })
      .onConflict('tenant_id')
      .ignore()
    const before = (await tx.query(ProviderRow).first().forUpdate()) as ProviderRow
    if (apiKey === undefined) refuseToTakeAlong(before, address)
    await tx
      .query(ProviderRow)
      .findOne('id', before.id)
      .patch({ baseUrl: address, model, ...sealKey(tx, before.id, apiKey), updatedAt: now })
    return getAiProvider(tx)
  })
}

function sealKey(tx: Scope, id: string, apiKey: string | null | undefined): { sealedKey?: Buffer | null } {
  if (apiKey === undefined) return {}
  return { sealedKey: apiKey === null ? null : tx.secrets.seal(apiKey, sealContext(tx.tenantId, id)) }
}

/** The key opens on its way to a host: whoever moves the address to another must know it. */
function refuseToTakeAlong({ sealedKey, baseUrl }: ProviderRow, address: string): void {
  const isMoved = new URL(baseUrl).origin !== new URL(address).origin
  if (sealedKey && isMoved) refuse('apiKey', 'must be given for another host')
}

function vetBaseUrl(text: string, allowsLoopback: boolean): string {
  const url = assertCallable(text, 'baseUrl', { allowsLoopback })
  if (url.search || url.hash) refuse('baseUrl', 'must have neither a query nor a fragment')
  if (url.protocol !== 'https:' && !allowsLoopback) refuse('baseUrl', 'must start with https://')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

function refuse(path: string, message: string): never {
  throw new InvalidError(`${path} ${message}`, [{ path, message }])
}
