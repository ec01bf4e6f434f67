import { AiProvider as ProviderRow } from '../../models/automation/ai-provider.ts'
import type { Scope } from '../../scope.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { AiProvider } from './schema.ts'

export type LoadedAiProvider = { baseUrl: string; model: string; apiKey: string | null }

/** What binds the sealed key to its row. */
export function sealContext(tenantId: string, id: string): string {
  return `ai-provider:${tenantId}:${id}`
}

/** Undefined while the workspace has none. */
export async function findAiProvider(scope: Scope): Promise<LoadedAiProvider | undefined> {
  const row: ProviderRow | undefined = await scope.query(ProviderRow).first()
  if (!row) return undefined
  const { id, baseUrl, model, sealedKey } = row
  // Only texts are ever sealed under this context.
  const apiKey = sealedKey && (scope.secrets.open(sealedKey, sealContext(scope.tenantId, id)) as string)
  return { baseUrl, model, apiKey }
}

/** @throws NotFoundError while the workspace has none */
export async function getAiProvider(scope: Scope): Promise<AiProvider> {
  const row: ProviderRow | undefined = await scope.query(ProviderRow).first()
  if (!row) throw new NotFoundError('AI provider')
  const { baseUrl, model, sealedKey, createdAt, updatedAt } = row
  return { baseUrl, model, hasApiKey: sealedKey !== null, createdAt, updatedAt }
}

/** Its key goes with it. Steps that need a model fail until there is another. */
export async function deleteAiProvider(scope: Scope): Promise<Record<string, never>> {
  const deleted = await scope.query(ProviderRow).delete()
  if (deleted === 0) throw new NotFoundError('AI provider')
  return {}
}
