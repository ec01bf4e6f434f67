import { getField } from '../../platform/fields.ts'
import { CONTINUE, END } from '../language/definition/names.ts'
import { explainIssue, problemAt, toProblems, type Location, type Problem } from '../language/definition/problems.ts'
import { splitStep, type StepBase } from '../language/definition/step-base.ts'
import type { CompiledStep } from '../model/compiled.ts'
import type { Registry } from '../model/registry.ts'
import type { StepType } from '../model/step.ts'

/** A step that its schemas accept; its references to other steps are still unchecked. */
export type ParsedStep = {
  location: Location
  base: StepBase
  type: StepType
  /** The fields of the step's type, without the body of a loop. */
  config: Record<string, unknown>
  /** Successor of a skipped step: `next`, or else the following step of the list, or else the end of the list. */
  skip: string
  /** The loops around it, the innermost last. */
  loops: string[]
  /** The first step of a loop's body. */
  body: string | null
}

/** A step with its problems; `value` is null if its schemas reject it. */
export type StepResult = { location: Location; value: ParsedStep | null; problems: Problem[] }

/** The position of a list of steps: its path in the definition, and the loops around it. */
type List = { path: string; loops: string[] }

const ROOT: List = { path: 'steps', loops: [] }
const LOOPS_DEPTH_MAX = 5

/** Parses a list of steps, each loop followed by its body, so that the order of the source is kept. */
export function parseSteps(sources: unknown[], registry: Registry, list: List = ROOT): StepResult[] {
  return sources.flatMap((source, index) => {
    const location = locate(source, `${list.path}.${index}`, index)
    const fields = parseFields(source, location, registry)
    const { base, type, config } = fields
    const body = type?.hasBody && Array.isArray(config?.['steps']) ? config['steps'] : []
    const problems = [...fields.problems, ...(body.length > 0 ? checkDepth(location, list) : [])]
    if (!base || !type || !config) return [{ location, value: null, problems }]
    const { steps: _, ...configWithoutBody } = config
    const value: ParsedStep = {
      location,
      base,
      type,
      config: type.hasBody ? configWithoutBody : config,
      skip: base.next ?? readId(sources[index + 1]) ?? (list.loops.length > 0 ? CONTINUE : END),
      loops: list.loops,
      body: readId(body[0]) ?? null,
    }
    const inner = { path: `${location.path}.steps`, loops: [...list.loops, base.id] }
    return [{ location, value, problems }, ...(problems.length > 0 ? [] : parseSteps(body, registry, inner))]
  })
}

function checkDepth(location: Location, { loops }: List): Problem[] {
  if (loops.length < LOOPS_DEPTH_MAX) return []
  const message = `is nested in ${LOOPS_DEPTH_MAX} loops already: a deeper loop is not allowed`
  return [problemAt(location, 'steps', 'max_depth_exceeded', message)]
}

type Fields = { base?: StepBase; type?: StepType; config?: Record<string, unknown>; problems: Problem[] }

function parseFields(source: unknown, location: Location, registry: Registry): Fields {
  if (typeof source !== 'object' || source === null) {
    return { problems: [problemAt(location, '', 'invalid', 'must be an object')] }
  }
  const fields = splitStep(source, registry.stepBase)
  const base = registry.stepBase.safeParse(fields.base, { error: explainIssue })
  const problems = base.success ? [] : toProblems(base.error, location)
  const name = fields.base['type']
  if (typeof name !== 'string') return { problems }
  const type = registry.steps.get(name)
  if (!type) {
    const message = `"${name}" is not a step type: use one of ${[...registry.steps.keys()].join(', ')}`
    return { problems: [...problems, problemAt(location, 'type', 'unknown_step_type', message)] }
  }
  const config = type.schema.safeParse(fields.own, { error: explainIssue })
  if (!config.success) problems.push(...toProblems(config.error, location))
  if (!base.success || !config.success) return { problems }
  return { base: base.data, type, config: config.data, problems }
}

function readId(step: unknown): string | undefined {
  const id = getField(step, 'id')
  return typeof id === 'string' ? id : undefined
}

function locate(source: unknown, path: string, index: number): Location {
  const id = readId(source)
  return id === undefined
    ? { stepId: null, path, name: `Step ${index + 1}` }
    : { stepId: id, path, name: `Step "${id}"` }
}

/** Converts a step to the form that runs: every successor is named. */
export function compileStep({ base, type, config, skip, loops, body }: ParsedStep): CompiledStep {
  return {
    id: base.id,
    type: base.type,
    loops,
    name: base.name ?? null,
    if: base.if ?? null,
    disabled: base.disabled,
    next: type.fallthrough(config) === 'always' ? skip : (base.next ?? END),
    skip,
    onError: base.onError,
    retry: base.retry ?? null,
    timeoutMs: base.timeout ?? null,
    onTimeout: base.onTimeout ?? null,
    saveAs: base.saveAs ?? null,
    body,
    config,
  }
}
