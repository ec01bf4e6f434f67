import { AiProvider as ProviderRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import { NotFoundError } from '../../platform/errors.ts'

/** Deletes the provider and its key. Steps that need a model fail until another provider is set. */
export async function deleteAiProvider(scope: Scope): Promise<Record<string, never>> {
  const deleted = await scope.query(ProviderRow).delete()
  if (deleted === 0) throw new NotFoundError('AI provider')
  return {}
}
