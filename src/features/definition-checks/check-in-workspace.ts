import type { Compilation } from '../../engine/compile/compile-definition.ts'
import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import type { Scope } from '../../scope.ts'
import { checkSchedules } from './check-schedules.ts'
import { checkAi } from './check-ai.ts'
import { checkConditions } from './check-conditions.ts'
import { checkDefinition } from './check-definition.ts'
import { checkIneffectiveFields } from './check-ineffective-fields.ts'
import { checkKeywords } from './check-keywords.ts'
import { checkReferences } from './check-references.ts'
import { checkWindow } from './check-window.ts'
import { listSteps, listTriggers } from '../workflows/stored-definition.ts'

/** Runs all checks of publishing: those of the definition itself and those against the workspace. */
export async function checkInWorkspace(
  scope: Scope,
  definition: unknown,
  workflowId: string | null,
): Promise<Compilation> {
  const { compiled, errors, warnings } = checkDefinition(definition, scope)
  const references = await checkReferences(scope, definition)
  const allErrors = [...errors, ...references.errors]
  if (!compiled || allErrors.length > 0) return { compiled: null, errors: allErrors, warnings }
  return {
    compiled,
    errors: [],
    warnings: [
      ...warnings,
      ...references.warnings,
      ...checkIneffectiveFields(definition),
      ...checkConditions(definition),
      ...(await checkSchedules(scope, compiled)),
      ...checkWindow(compiled, definition),
      ...checkContactRequired(definition),
      ...(await checkAi(scope, definition)),
      ...(await checkKeywords(scope, compiled, { definition, workflowId })),
    ],
  }
}

const CONTACT_STEPS: ReadonlySet<unknown> = new Set(['send_message', 'ask', 'wait_for_reply', 'handoff'])

/** Warns of steps that need a contact in a workflow whose schedule has no group: its runs have no contact. */
function checkContactRequired(definition: unknown): Problem[] {
  const isContactless = listTriggers(definition).some(
    ({ fields }) => fields['type'] === 'schedule' && fields['groupId'] === undefined,
  )
  const step = isContactless ? listSteps(definition).find(({ fields }) => CONTACT_STEPS.has(fields['type'])) : undefined
  if (!step) return []
  const description = 'needs a contact, and a schedule without groupId starts runs without one'
  return [problemAt(step.location, '', 'no_contact', description)]
}
