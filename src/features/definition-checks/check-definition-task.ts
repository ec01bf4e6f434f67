import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { defineTask } from '../../platform/compute/compute-task.ts'
import { SECOND } from '../../platform/time.ts'
import { checkConditions } from './check-conditions.ts'
import { checkWindow } from './check-window.ts'
import { checkDefinition } from './check-definition.ts'
import { checkIneffectiveFields } from './check-ineffective-fields.ts'
import { listReferences, type Reference } from './list-references.ts'
import { type ProblemList, toProblemList } from './problem-list.ts'
import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { listSteps, listTriggers } from '../workflows/stored-definition.ts'
import { stepTypes } from '../../steps/index.ts'

/** The result of all checks that need nothing but the definition. */
export type DefinitionCheck = {
  compiled: CompiledDefinition | null
  errors: ProblemList
  warnings: ProblemList
  /** Warnings about fields and conditions of a valid definition. */
  fieldWarnings: ProblemList
  /** Warnings about steps of a valid definition that may fail when they are reached. */
  stepWarnings: ProblemList
  references: Reference[]
}

/** Compiles and checks a definition on a compute thread: 1 MB of patterns, templates and schemas takes minutes. */
export const checkDefinitionTask = defineTask({
  name: 'check-definition',
  deadlineMs: 5 * SECOND,
  budgetMessage:
    'Checking the definition takes too long or too much memory. Use fewer or simpler patterns, templates and JSON Schemas',
  run: ({ definition, allowsLoopback }: { definition: unknown; allowsLoopback: boolean }): DefinitionCheck => {
    const { compiled, errors, warnings } = checkDefinition(definition, { allowsLoopback })
    const fieldWarnings = compiled ? [...checkIneffectiveFields(definition), ...checkConditions(definition)] : []
    const stepWarnings = compiled ? [...checkWindow(compiled, definition), ...checkContactRequired(definition)] : []
    return {
      compiled,
      errors: toProblemList(errors),
      warnings: toProblemList(warnings),
      fieldWarnings: toProblemList(fieldWarnings),
      stepWarnings: toProblemList(stepWarnings),
      references: listReferences(definition),
    }
  },
})

/** Warns of steps that need a contact in a workflow whose schedule has no group: its runs have no contact. */
function checkContactRequired(definition: unknown): Problem[] {
  const isContactless = listTriggers(definition).some(
    ({ fields }) => fields['type'] === 'schedule' && fields['groupId'] === undefined,
  )
  const step = isContactless
    ? listSteps(definition).find(
        ({ fields }) => fields['disabled'] !== true && stepTypes.get(String(fields['type']))?.needsContact,
      )
    : undefined
  if (!step) return []
  const description = 'needs a contact, and a schedule without groupId starts runs without one'
  return [problemAt(step.location, '', 'no_contact', description)]
}
