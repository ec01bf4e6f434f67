import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import type { Scope } from '../../scope.ts'
import { findAiProvider } from '../ai-provider/queries.ts'
import { listSteps } from '../workflows/stored-definition.ts'

/** Steps that ask a model fail until the workspace says which. */
export async function checkAi(scope: Scope, definition: unknown): Promise<Problem[]> {
  const asking = listSteps(definition).filter(({ fields }) => fields['type'] === 'ai')
  if (asking.length === 0 || (await findAiProvider(scope))) return []
  const what = 'needs an AI provider, and the workspace has none: say which one with PUT /api/ai-provider'
  return asking.map(({ place }) => problemAt(place, 'type', 'no_ai_provider', what))
}
