import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import type { Scope } from '../../scope.ts'
import { findAiProvider } from '../ai-provider/queries.ts'
import { listSteps } from '../workflows/stored-definition.ts'

/** Warns of `ai` steps in a workspace without an AI provider: they fail until there is one. */
export async function checkAi(scope: Scope, definition: unknown): Promise<Problem[]> {
  const aiSteps = listSteps(definition).filter(({ fields }) => fields['type'] === 'ai')
  if (aiSteps.length === 0 || (await findAiProvider(scope))) return []
  const description = 'needs an AI provider, and the workspace has none: set one with PUT /api/ai-provider'
  return aiSteps.map(({ location }) => problemAt(location, 'type', 'no_ai_provider', description))
}
