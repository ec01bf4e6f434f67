import { type Compilation, compileDefinition } from '../../engine/compile/compile-definition.ts'
import { type Problem, problemAt } from '../../engine/language/definition/problems.ts'
import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { defineTask } from '../../platform/compute/compute-task.ts'
import { SECOND } from '../../platform/time.ts'
import { stepTypes } from '../../steps/index.ts'
import { workflowLanguage, workflowLanguageWithLoopback } from '../../workflow-language.ts'
import { findLiteralSecrets } from '../workflows/literal-secrets.ts'
import { type DefinitionPart, listSteps, listTriggers, toRootPart } from '../workflows/stored-definition.ts'
import { checkConditions } from './check-conditions.ts'
import { checkIneffectiveFields, type ValidParts } from './check-ineffective-fields.ts'
import { checkWindow } from './check-window.ts'
import { findUnsupported, type Unsupported } from './find-unsupported.ts'
import { listReferences, type Reference } from './list-references.ts'

/** The result of all checks that need nothing but the definition. */
export type DefinitionCheck = {
  compiled: CompiledDefinition | null
  triggers: Compilation['triggers']
  errors: ProblemList
  warnings: ProblemList
  /** Warnings about fields and conditions of valid parts. */
  fieldWarnings: ProblemList
  /** Warnings about valid steps that may fail when they are reached. */
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
    const { compiled, triggers, errors, warnings } = checkDefinition(definition, { allowsLoopback })
    const parts = listValidParts(definition, errors)
    const fieldWarnings = [...checkIneffectiveFields(parts), ...checkConditions(parts)]
    const stepWarnings = [...(compiled ? checkWindow(compiled, definition) : []), ...checkContactRequired(parts)]
    return {
      compiled,
      triggers,
      errors: toProblemList(errors),
      warnings: toProblemList(warnings),
      fieldWarnings: toProblemList(fieldWarnings),
      stepWarnings: toProblemList(stepWarnings),
      references: listReferences(definition),
    }
  },
})

/** Property that JavaScript objects lose when they are copied. */
const REMOVED_NAME = '__proto__'
/** Fields that are visited as parts of their own, or not at all. */
const SKIPPED_FIELDS: ReadonlySet<string> = new Set(['steps', 'triggers', 'ui'])

const PROBLEMS_MAX = 100
const PROBLEMS_BYTES_MAX = 131_072

/** The first problems of a list that may be long, and the number of all. */
type ProblemList = { items: Problem[]; total: number }

/**
 * Compiles a definition, or lists its errors as far as they can be found without the workspace. Features of the language
 * that are not supported yet are reported as `not_supported`, instead of being ignored or reported as invalid.
 */
export function checkDefinition(definition: unknown, { allowsLoopback }: { allowsLoopback: boolean }): Compilation {
  const registry = allowsLoopback ? workflowLanguageWithLoopback : workflowLanguage
  const { compiled, triggers, errors, warnings } = compileDefinition(definition, registry)
  const unsupported = findUnsupported(definition)
  const paths = new Set(errors.map(({ path }) => path))
  const additional = [...findRemovedNames(definition), ...findLiteralSecrets(definition)].filter(
    ({ path }) => !paths.has(path),
  )
  if (unsupported.length + additional.length === 0) return { compiled, triggers, errors, warnings }
  const others = errors.filter((error) => !unsupported.some((one) => covers(one, error)))
  const unsupportedErrors = unsupported.map(({ stepId, path, code, message }) => ({ stepId, path, code, message }))
  return { compiled: null, triggers, errors: [...others, ...additional, ...unsupportedErrors], warnings }
}

export function toProblemList(problems: Problem[]): ProblemList {
  return { items: limit(problems), total: problems.length }
}

function limit(problems: Problem[]): Problem[] {
  const first = problems.slice(0, PROBLEMS_MAX)
  let bytes = 0
  const end = first.findIndex((problem) => (bytes += Buffer.byteLength(JSON.stringify(problem))) > PROBLEMS_BYTES_MAX)
  return end < 0 ? first : first.slice(0, end)
}

/** Joins lists to one of at most 100 problems and 128 KB, of which the last one says how many are left out. */
export function joinProblems(...lists: ProblemList[]): Problem[] {
  const items = limit(lists.flatMap((list) => list.items))
  const total = lists.reduce((sum, list) => sum + list.total, 0)
  if (items.length === total) return items
  const listed = items.slice(0, PROBLEMS_MAX - 1)
  const message = `The definition has ${total - listed.length} more problems. Fix the listed ones first`
  return [...listed, { stepId: null, code: 'more_problems', path: '', message }]
}

/** The part of an error: its path up to the index of the innermost step. */
const PART = /^(?:triggers\.\d+|steps\.\d+(?:\.steps\.\d+)*)(?=\.|$)/

/** Lists the parts without errors. The root counts as one only if the triggers have none, on which its fields depend. */
function listValidParts(definition: unknown, errors: Problem[]): ValidParts {
  const faulty = new Set(errors.map(({ path }) => PART.exec(path)?.[0] ?? ''))
  const isRootValid = ![...faulty].some((path) => !path.startsWith('steps'))
  const isValid = ({ location }: DefinitionPart) => !faulty.has(location.path)
  return {
    root: isRootValid ? toRootPart(definition) : null,
    triggers: listTriggers(definition).filter(isValid),
    steps: listSteps(definition).filter(isValid),
  }
}

/** Warns of steps that need a contact in a workflow whose schedule has no group: its runs have no contact. */
function checkContactRequired({ triggers, steps }: ValidParts): Problem[] {
  const isContactless = triggers.some(({ fields }) => fields['type'] === 'schedule' && fields['groupId'] === undefined)
  const step = isContactless
    ? steps.find(({ fields }) => fields['disabled'] !== true && stepTypes.get(String(fields['type']))?.needsContact)
    : undefined
  if (!step) return []
  const description = 'needs a contact, and a schedule without groupId starts runs without one'
  return [problemAt(step.location, '', 'no_contact', description)]
}

function covers({ within }: Unsupported, { path }: Problem): boolean {
  return within.some((one) => path === one || path.startsWith(`${one}.`))
}

/** Finds names in a definition that would silently be lost. */
function findRemovedNames(definition: unknown): Problem[] {
  const parts = [toRootPart(definition), ...listTriggers(definition), ...listSteps(definition)]
  return parts.flatMap((part) => listPaths(part).map((path) => toProblem(part, path)))
}

function listPaths({ fields }: DefinitionPart): string[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    SKIPPED_FIELDS.has(name) ? [] : listNestedPaths(value, name),
  )
}

function listNestedPaths(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, child]) =>
    name === REMOVED_NAME ? [`${path}.${name}`] : listNestedPaths(child, `${path}.${name}`),
  )
}

function toProblem({ location }: DefinitionPart, path: string): Problem {
  return problemAt(location, path, 'unknown_field', 'is not a name that can be used here')
}
