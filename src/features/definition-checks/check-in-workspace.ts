import type { Compilation } from '../../engine/compile/compile-definition.ts'
import type { Scope } from '../../scope.ts'
import { checkSchedules } from './check-schedules.ts'
import { checkAi } from './check-ai.ts'
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
  const allErrors = joinProblems(errors, toProblemList(found.errors))
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
