import { AiProvider as ProviderRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { AiProvider } from './schema.ts'

export type LoadedAiProvider = { baseUrl: string; model: string; apiKey: string | null }

/** Context that binds the sealed key to its row. */
export function sealContext(tenantId: string, id: string): string {
  return `ai-provider:${tenantId}:${id}`
}

/** Loads the provider with its key; undefined if the workspace has none. */
export async function findAiProvider(scope: Scope): Promise<LoadedAiProvider | undefined> {
  const row: ProviderRow | undefined = await scope.query(ProviderRow).first()
  if (!row) return undefined
  const { id, baseUrl, model, sealedKey } = row
  const apiKey = sealedKey && String(scope.secrets.open(sealedKey, sealContext(scope.tenantId, id)))
  return { baseUrl, model, apiKey }
}

/** @throws NotFoundError if the workspace has no provider */
export async function getAiProvider(scope: Scope): Promise<AiProvider> {
  const row: ProviderRow | undefined = await scope.query(ProviderRow).first()
  if (!row) throw new NotFoundError('AI provider', 'Set one with PUT /api/ai-provider')
  const { baseUrl, model, sealedKey, createdAt, updatedAt } = row
  return { baseUrl, model, hasApiKey: sealedKey !== null, createdAt, updatedAt }
}
