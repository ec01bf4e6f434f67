import type { Compilation } from '../../engine/compile/compile-definition.ts'
import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import type { Scope } from '../../scope.ts'
import { findAiProvider } from '../ai-provider/queries.ts'
import { checkStepMedia } from './media/check-step-media.ts'
import { checkStepTemplates } from './templates/check-step-templates.ts'
import { listSteps } from '../workflows/stored-definition.ts'
import { checkSchedules } from './check-schedules.ts'
import { checkDefinitionTask } from './check-definition-task.ts'
import { checkKeywords } from './check-keywords.ts'
import { checkReferences } from './check-references.ts'
import { joinProblems, toProblemList } from './problem-list.ts'

/**
 * Runs all checks of publishing: those of the definition itself and those against the workspace. Lists at most 100
 * errors and 100 warnings.
 */
export async function checkInWorkspace(
  scope: Scope,
  definition: unknown,
  workflowId: string | null,
): Promise<Compilation> {
  const { allowsLoopback } = scope
  const check = await scope.compute(checkDefinitionTask, { definition, allowsLoopback })
  const { compiled, errors, warnings, fieldWarnings, stepWarnings, references } = check
  const found = await checkReferences(scope, references)
  const templates = await checkStepTemplates(scope, definition)
  const files = await checkStepMedia(scope, definition)
  const allErrors = joinProblems(errors, toProblemList([...found.errors, ...templates, ...files]))
  if (!compiled || allErrors.length > 0) {
    return { compiled: null, errors: allErrors, warnings: joinProblems(warnings) }
  }
  const schedules = await checkSchedules(scope, compiled)
  const workspaceWarnings = [
    ...(await checkAi(scope, definition)),
    ...(await checkKeywords(scope, compiled, { definition, workflowId })),
  ]
  return {
    compiled,
    errors: [],
    warnings: joinProblems(
      warnings,
      toProblemList(found.warnings),
      fieldWarnings,
      toProblemList(schedules),
      stepWarnings,
      toProblemList(workspaceWarnings),
    ),
  }
}

/** Warns of `ai` steps in a workspace without an AI provider: they fail until there is one. */
async function checkAi(scope: Scope, definition: unknown): Promise<Problem[]> {
  const aiSteps = listSteps(definition).filter(({ fields }) => fields['type'] === 'ai')
  if (aiSteps.length === 0 || (await findAiProvider(scope))) return []
  const description = 'needs an AI provider, and the workspace has none: set one with PUT /api/ai-provider'
  return aiSteps.map(({ location }) => problemAt(location, 'type', 'no_ai_provider', description))
}
