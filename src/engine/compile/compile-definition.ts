import { Definition, STEPS_MAX } from '../language/definition/definition.ts'
import { PARSING, problemAt, toProblems, type Location, type Problem } from '../language/definition/problems.ts'
import type { Fields } from '../language/fields.ts'
import { DEFINITION_PATTERNS_WORK_MAX } from '../language/patterns.ts'
import { withWorkBudget } from '../language/work-budget.ts'
import type { CompiledDefinition } from '../model/compiled.ts'
import type { Registry } from '../model/registry.ts'
import type { CompiledTrigger } from '../model/trigger.ts'
import { getField } from '../../platform/fields.ts'
import { checkGraph, checkTargets } from './check-graph.ts'
import { checkTemplates } from './check-templates.ts'
import { compileSteps, type StepResult, parseSteps, type ParsedStep } from './compile-step.ts'
import { findDuplicateTriggers, type ParsedTrigger, parseTrigger } from './parse-trigger.ts'

/**
 * `compiled` is set exactly if there are no errors; warnings do not prevent it. `triggers` are those of the definition in
 * their order, null where one is invalid.
 */
export type Compilation = {
  compiled: CompiledDefinition | null
  triggers: (CompiledTrigger | null)[]
  errors: Problem[]
  warnings: Problem[]
}

const WHOLE: Location = { stepId: null, path: '', name: 'Workflow' }

/**
 * Checks a definition of any form and converts it to the form that runs. An invalid part keeps no other part from being
 * checked: what depends on it counts as right, and is checked once it is valid.
 */
export function compileDefinition(definition: unknown, registry: Registry): Compilation {
  const outer = Definition.safeParse(definition, PARSING)
  const sources = { triggers: readList(definition, 'triggers'), steps: readList(definition, 'steps') }
  const { triggers, steps } = withWorkBudget(DEFINITION_PATTERNS_WORK_MAX, () => parseParts(sources, registry)).result
  const valid = steps.flatMap(({ value }) => value ?? [])
  const related =
    steps.length > STEPS_MAX
      ? { errors: [TOO_MANY_STEPS], warnings: [] }
      : checkRelations({ definition, sources, triggers, steps, valid }, registry)
  const errors = [
    ...(outer.success ? [] : toProblems(outer.error, WHOLE, { name: 'the definition' })),
    ...[...triggers, ...steps].flatMap(({ problems }) => problems),
    ...findDuplicateTriggers(triggers, registry.triggers),
    ...related.errors,
  ]
  return {
    compiled: outer.success && errors.length === 0 ? assemble(outer.data, triggers, valid) : null,
    triggers: triggers.map(({ value }) => value),
    errors,
    warnings: [...findEmptyParts(sources), ...related.warnings],
  }
}

/** The lists of a definition; null for one that cannot be read. */
type Sources = { triggers: unknown[] | null; steps: unknown[] | null }

function parseParts(sources: Sources, registry: Registry) {
  const triggers = (sources.triggers ?? []).map((source, index) => parseTrigger(source, index, registry.triggers))
  return { triggers, steps: parseSteps(sources.steps ?? [], registry) }
}

type Parts = {
  definition: unknown
  sources: Sources
  triggers: ParsedTrigger[]
  steps: StepResult[]
  /** The steps that their schemas accept. */
  valid: ParsedStep[]
}

/** Checks what the parts read of one another, and in which order the steps run. */
function checkRelations(
  { definition, sources, triggers, steps, valid }: Parts,
  registry: Registry,
): { errors: Problem[]; warnings: Problem[] } {
  const templates = checkTemplates({ triggers: sources.triggers && triggers, steps: valid }, registry, {
    steps: sources.steps && listOutputs(steps),
    variables: listVariables(definition, steps),
  })
  const unknownTargets = [...findDuplicateIds(valid), ...checkTargets(valid, listInvalidIds(steps))]
  const graph = checkGraph(valid, {
    start: steps[0]?.location.stepId ?? null,
    isComplete: valid.length === steps.length && unknownTargets.length === 0,
  })
  return {
    errors: [...unknownTargets, ...templates.errors, ...graph.errors],
    warnings: [...graph.warnings, ...templates.warnings],
  }
}

function assemble(outer: Definition, triggers: ParsedTrigger[], steps: ParsedStep[]): CompiledDefinition {
  return {
    version: outer.version,
    triggers: triggers.flatMap(({ value }) => value ?? []),
    settings: outer.settings,
    variables: outer.variables,
    ...compileSteps(steps),
  }
}

/** Lists the fields of the outputs by step ID. Those of an invalid step, or of two steps with one ID, are not known. */
function listOutputs(steps: StepResult[]): Map<string, Fields | null> {
  const outputs = new Map<string, Fields | null>()
  for (const { location, value } of steps) {
    if (location.stepId === null) continue
    outputs.set(location.stepId, value && !outputs.has(location.stepId) ? toOutput(value) : null)
  }
  return outputs
}

/** A failed step that does not end the run leaves its error. */
function toOutput({ base, type, config }: ParsedStep): Fields | null {
  const fields = type.output(config)
  return fields && base.onError !== 'fail' ? { ...fields, error: { code: null, message: null } } : fields
}

/** Lists the variables that are declared or assigned; null if a step may assign others. */
function listVariables(definition: unknown, steps: StepResult[]): Set<string> | null {
  const declared = getField(definition, 'variables')
  const assigned = steps.map((step) => step.assigned)
  if (!assigned.every((names) => names !== null)) return null
  return new Set([...(isObject(declared) ? Object.keys(declared) : []), ...assigned.flat()])
}

function listInvalidIds(steps: StepResult[]): Set<string> {
  return new Set(steps.flatMap(({ value, location }) => (value ? [] : (location.stepId ?? []))))
}

/** A list that is too long is rejected as such, without parsing its entries. */
function readList(definition: unknown, field: 'triggers' | 'steps'): unknown[] | null {
  if (!isObject(definition)) return null
  const list = getField(definition, field) ?? (field === 'triggers' ? [] : null)
  return Array.isArray(list) && list.length <= STEPS_MAX ? list : null
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function findDuplicateIds(steps: ParsedStep[]): Problem[] {
  const seen = new Set<string>()
  return steps.flatMap(({ base, location }) => {
    const isRepeated = seen.has(base.id)
    seen.add(base.id)
    return isRepeated ? [problemAt(location, 'id', 'duplicate_id', 'is the id of an earlier step')] : []
  })
}

/** The problem of all steps, including those in loops; the schema limits the outer list alone. */
const TOO_MANY_STEPS: Problem = {
  stepId: null,
  code: 'too_many_steps',
  path: 'steps',
  message: `The workflow has more than ${STEPS_MAX} steps, including those in loops: move some of them to another workflow`,
}

function findEmptyParts({ triggers, steps }: Sources): Problem[] {
  const problem = (code: string, path: string, message: string) => ({ stepId: null, code, path, message })
  return [
    ...(triggers?.length === 0 ? [problem('no_triggers', 'triggers', 'The workflow has no triggers')] : []),
    ...(steps?.length === 0 ? [problem('no_steps', 'steps', 'The workflow has no steps')] : []),
  ]
}
