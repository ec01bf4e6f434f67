import { AiProvider as ProviderRow } from '../../models/automation/ai-provider.ts'
import type { Scope } from '../../scope.ts'

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
