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

/** What publishing says: what the definition alone tells, and how it fits into the workspace. */
export async function checkInWorkspace(
  scope: Scope,
  definition: unknown,
  workflowId: string | null,
): Promise<Compilation> {
  const { compiled, errors, warnings } = checkDefinition(definition, scope)
  const references = await checkReferences(scope, definition)
  const found = [...errors, ...references.errors]
  if (!compiled || found.length > 0) return { compiled: null, errors: found, warnings }
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
      ...contactless(definition),
      ...(await checkAi(scope, definition)),
      ...(await checkKeywords(scope, compiled, { definition, workflowId })),
    ],
  }
}

const TO_SOMEBODY: ReadonlySet<unknown> = new Set(['send_message', 'ask', 'wait_for_reply', 'handoff'])

/** A schedule without a group starts a run that is about nobody. */
function contactless(definition: unknown): Problem[] {
  const isAboutNobody = listTriggers(definition).some(
    ({ fields }) => fields['type'] === 'schedule' && fields['groupId'] === undefined,
  )
  const talking = isAboutNobody
    ? listSteps(definition).find(({ fields }) => TO_SOMEBODY.has(fields['type']))
    : undefined
  if (!talking) return []
  const what = 'needs a contact, and a schedule without groupId starts runs that have none'
  return [problemAt(talking.place, '', 'no_contact', what)]
}
