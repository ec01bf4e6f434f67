import { checkGraph, checkTargets } from './check-graph.ts'
import { checkTemplates } from './check-templates.ts'
import { compileStep, type StepReader, parseSteps, type ParsedStep } from './compile-step.ts'
import { compileTrigger, type ParsedTrigger, repeatedWebhooks } from './compile-trigger.ts'
import type { CompiledDefinition } from '../model/compiled.ts'
import { Definition, STEPS_MAX } from '../language/definition/definition.ts'
import { explainIssue, problemAt, toProblems, type Location, type Problem } from '../language/definition/problems.ts'
import type { StepRegistry } from '../model/step.ts'

/** `compiled` is there exactly if there are no errors. Warnings stop nothing. */
export type Compilation = { compiled: CompiledDefinition | null; errors: Problem[]; warnings: Problem[] }

const WHOLE: Location = { stepId: null, path: '', name: 'Workflow' }

/**
 * Checks a definition of any form and brings it into the form that runs. Every mistake is told at once, except those
 * that only sound parts can show.
 */
export function compileDefinition(definition: unknown, registry: StepRegistry): Compilation {
  const outer = Definition.safeParse(definition, { error: explainIssue })
  const triggers = listIn(definition, 'triggers').map(compileTrigger)
  const steps = parseSteps(listIn(definition, 'steps'), registry)
  const sound = steps.flatMap(({ value }) => value ?? [])
  const templates = checkTemplates(triggers, sound, {
    steps: new Set(steps.flatMap(({ place }) => place.stepId ?? [])),
    variables: new Set([...Object.keys(outer.data?.variables ?? {}), ...sound.flatMap(variablesOf)]),
  })
  const errors = [
    ...(outer.success ? [] : toProblems(outer.error, WHOLE)),
    ...[...triggers, ...steps].flatMap(({ problems }) => problems),
    ...repeatedWebhooks(triggers),
    ...repeatedIds(sound),
    ...checkTargets(sound, unreadIds(steps)),
    ...tooMany(steps.length),
    ...templates.errors,
  ]
  if (!outer.success || sound.length < steps.length) return { compiled: null, errors, warnings: [] }
  const compiled = assemble(outer.data, triggers, sound)
  const graph = checkGraph(compiled, sound)
  errors.push(...graph.errors)
  const warnings = [...absences(compiled), ...graph.warnings, ...templates.warnings]
  return { compiled: errors.length > 0 ? null : compiled, errors, warnings }
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

function variablesOf({ base, type, config }: ParsedStep): string[] {
  return [...(base.saveAs ? [base.saveAs] : []), ...type.assigns(config)]
}

function unreadIds(steps: StepReader[]): Set<string> {
  return new Set(steps.flatMap(({ value, place }) => (value ? [] : (place.stepId ?? []))))
}

function listIn(definition: unknown, field: 'triggers' | 'steps'): unknown[] {
  if (typeof definition !== 'object' || definition === null) return []
  const list: unknown = Reflect.get(definition, field)
  // A list that is too long is refused as such, and its entries need no reading.
  return Array.isArray(list) && list.length <= STEPS_MAX ? list : []
}

function repeatedIds(steps: ParsedStep[]): Problem[] {
  const seen = new Set<string>()
  return steps.flatMap(({ base, place }) => {
    const isRepeated = seen.has(base.id)
    seen.add(base.id)
    return isRepeated ? [problemAt(place, 'id', 'duplicate_id', 'is the id of an earlier step')] : []
  })
}

/** The outer list is counted by its schema; this counts those within loops too. */
function tooMany(count: number): Problem[] {
  if (count <= STEPS_MAX) return []
  const message = `The workflow has ${count} steps with those in its loops: at most ${STEPS_MAX} are allowed`
  return [{ stepId: null, code: 'too_many_steps', path: 'steps', message }]
}

function absences({ triggers, steps }: CompiledDefinition): Problem[] {
  const absent = (code: string, path: string, message: string) => ({ stepId: null, code, path, message })
  return [
    ...(triggers.length === 0 ? [absent('no_triggers', 'triggers', 'Nothing starts this workflow')] : []),
    ...(steps.length === 0 ? [absent('no_steps', 'steps', 'This workflow does nothing')] : []),
  ]
}
