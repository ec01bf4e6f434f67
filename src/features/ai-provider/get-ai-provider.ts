import { AiProvider as ProviderRow } from '../../models/automation/ai-provider.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import type { AiProvider } from './schema.ts'

/** @throws NotFoundError while the workspace has none */
export async function getAiProvider(scope: Scope): Promise<AiProvider> {
  const row: ProviderRow | undefined = await scope.query(ProviderRow).first()
  if (!row) throw new NotFoundError('AI provider')
  const { baseUrl, model, sealedKey, createdAt, updatedAt } = row
  return { baseUrl, model, hasApiKey: sealedKey !== null, createdAt, updatedAt }
}
