import { Definition, STEPS_MAX } from '../language/definition/definition.ts'
import { explainIssue, problemAt, toProblems, type Location, type Problem } from '../language/definition/problems.ts'
import { DEFINITION_PATTERNS_WORK_MAX } from '../language/patterns.ts'
import { withWorkBudget } from '../language/work-budget.ts'
import type { CompiledDefinition } from '../model/compiled.ts'
import type { Registry } from '../model/registry.ts'
import { checkGraph, checkTargets } from './check-graph.ts'
import { checkTemplates } from './check-templates.ts'
import { compileStep, type StepResult, parseSteps, type ParsedStep } from './compile-step.ts'
import { findDuplicateTriggers, type ParsedTrigger, parseTrigger } from './parse-trigger.ts'

/** `compiled` is set exactly if there are no errors; warnings do not prevent it. */
export type Compilation = { compiled: CompiledDefinition | null; errors: Problem[]; warnings: Problem[] }

const WHOLE: Location = { stepId: null, path: '', name: 'Workflow' }

/**
 * Checks a definition of any form and converts it to the form that runs. Reports every problem at once, except those of
 * the graph, which need all steps to be valid.
 */
export function compileDefinition(definition: unknown, registry: Registry): Compilation {
  const outer = Definition.safeParse(definition, { error: explainIssue })
  const { triggers, steps } = withWorkBudget(DEFINITION_PATTERNS_WORK_MAX, () =>
    parseParts(definition, registry),
  ).result
  const valid = steps.flatMap(({ value }) => value ?? [])
  const templates = checkTemplates({ triggers, steps: valid }, registry.triggers, {
    steps: new Set(steps.flatMap(({ location }) => location.stepId ?? [])),
    variables: new Set([...Object.keys(outer.data?.variables ?? {}), ...valid.flatMap(listAssigned)]),
  })
  const errors = [
    ...(outer.success ? [] : toProblems(outer.error, WHOLE)),
    ...[...triggers, ...steps].flatMap(({ problems }) => problems),
    ...findDuplicateTriggers(triggers, registry.triggers),
    ...findDuplicateIds(valid),
    ...checkTargets(valid, listInvalidIds(steps)),
    ...checkCount(steps.length),
    ...templates.errors,
  ]
  if (!outer.success || valid.length < steps.length) return { compiled: null, errors, warnings: [] }
  const compiled = assemble(outer.data, triggers, valid)
  const graph = checkGraph(compiled, valid)
  errors.push(...graph.errors)
  const warnings = [...findEmptyParts(compiled), ...graph.warnings, ...templates.warnings]
  return { compiled: errors.length > 0 ? null : compiled, errors, warnings }
}

function parseParts(definition: unknown, registry: Registry) {
  const triggers = readList(definition, 'triggers').map((source, index) =>
    parseTrigger(source, index, registry.triggers),
  )
  return { triggers, steps: parseSteps(readList(definition, 'steps'), registry) }
}

function assemble(outer: Definition, triggers: ParsedTrigger[], steps: ParsedStep[]): CompiledDefinition {
  return {
    version: outer.version,
    triggers: triggers.flatMap(({ value }) => value ?? []),
    settings: outer.settings,
    variables: outer.variables,
    steps: steps.map(compileStep),
    index: Object.fromEntries(steps.map(({ base }, index) => [base.id, index])),
  }
}

function listAssigned({ base, type, config }: ParsedStep): string[] {
  return [...(base.saveAs ? [base.saveAs] : []), ...type.assigns(config)]
}

function listInvalidIds(steps: StepResult[]): Set<string> {
  return new Set(steps.flatMap(({ value, location }) => (value ? [] : (location.stepId ?? []))))
}

function readList(definition: unknown, field: 'triggers' | 'steps'): unknown[] {
  if (typeof definition !== 'object' || definition === null) return []
  const list: unknown = Reflect.get(definition, field)
  // A list that is too long is rejected as such, without parsing its entries.
  return Array.isArray(list) && list.length <= STEPS_MAX ? list : []
}

function findDuplicateIds(steps: ParsedStep[]): Problem[] {
  const seen = new Set<string>()
  return steps.flatMap(({ base, location }) => {
    const isRepeated = seen.has(base.id)
    seen.add(base.id)
    return isRepeated ? [problemAt(location, 'id', 'duplicate_id', 'is the id of an earlier step')] : []
  })
}

/** Counts all steps, including those in loops; the schema limits the outer list alone. */
function checkCount(count: number): Problem[] {
  if (count <= STEPS_MAX) return []
  const message = `The workflow has ${count} steps, including those in loops: at most ${STEPS_MAX} are allowed`
  return [{ stepId: null, code: 'too_many_steps', path: 'steps', message }]
}

function findEmptyParts({ triggers, steps }: CompiledDefinition): Problem[] {
  const problem = (code: string, path: string, message: string) => ({ stepId: null, code, path, message })
  return [
    ...(triggers.length === 0 ? [problem('no_triggers', 'triggers', 'The workflow has no triggers')] : []),
    ...(steps.length === 0 ? [problem('no_steps', 'steps', 'The workflow has no steps')] : []),
  ]
}
