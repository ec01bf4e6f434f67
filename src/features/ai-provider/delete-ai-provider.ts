import { AiProvider as ProviderRow } from '../../models/automation/ai-provider.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'

/** Its key goes with it. Steps that need a model fail until there is another. */
export async function deleteAiProvider(scope: Scope): Promise<Record<string, never>> {
  const deleted = await scope.query(ProviderRow).delete()
  if (deleted === 0) throw new NotFoundError('AI provider')
  return {}
}
