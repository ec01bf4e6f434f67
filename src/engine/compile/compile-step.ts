import { getField } from '../../platform/get-field.ts'
import type { CompiledStep } from '../model/compiled.ts'
import { CONTINUE, END } from '../language/definition/names.ts'
import { explainIssue, problemAt, toProblems, type Location, type Problem } from '../language/definition/problems.ts'
import { splitStep, StepBase } from '../language/definition/step-base.ts'
import type { StepRegistry, StepType } from '../model/step.ts'

/** A step that its schemas accept; whether it fits among the others is still open. */
export type ParsedStep = {
  place: Location
  base: StepBase
  type: StepType
  /** The fields of the type's own, without the steps of a loop. */
  config: Record<string, unknown>
  /** Where the run goes on if the step is passed over: what `next` says, what follows in the list, or the list's end. */
  skip: string
  /** The loops around it, the innermost last. */
  loops: string[]
  /** The first step of a loop's body. */
  body: string | null
}

export type StepReader = { place: Location; value: ParsedStep | null; problems: Problem[] }

/** The position of a list of steps: its path in the definition, and the loops around it. */
type List = { path: string; loops: string[] }

const ROOT: List = { path: 'steps', loops: [] }
const LOOPS_DEPTH_MAX = 5

/** Reads a list of steps, each loop's own list behind the loop: what stands deeper stays in the order of the text. */
export function parseSteps(given: unknown[], registry: StepRegistry, list: List = ROOT): StepReader[] {
  return given.flatMap((step, index) => {
    const place = placeOf(step, `${list.path}.${index}`, index)
    const read = readStep(step, place, registry)
    const { base, type, config } = read
    const body = type?.hasBody && Array.isArray(config?.['steps']) ? (config['steps'] as unknown[]) : []
    const problems = [...read.problems, ...(body.length > 0 ? refuseDepth(place, list) : [])]
    if (!base || !type || !config) return [{ place, value: null, problems }]
    const { steps: _, ...own } = config
    const value: ParsedStep = {
      place,
      base,
      type,
      config: type.hasBody ? own : config,
      skip: base.next ?? idOf(given[index + 1]) ?? (list.loops.length > 0 ? CONTINUE : END),
      loops: list.loops,
      body: idOf(body[0]) ?? null,
    }
    const within = { path: `${place.path}.steps`, loops: [...list.loops, base.id] }
    return [{ place, value, problems }, ...(problems.length > 0 ? [] : parseSteps(body, registry, within))]
  })
}

function refuseDepth(place: Location, { loops }: List): Problem[] {
  if (loops.length < LOOPS_DEPTH_MAX) return []
  return [
    problemAt(
      place,
      'steps',
      'max_depth_exceeded',
      `stands in ${LOOPS_DEPTH_MAX} loops already: no deeper one is allowed`,
    ),
  ]
}

type Fields = { base?: StepBase; type?: StepType; config?: Record<string, unknown>; problems: Problem[] }

function readStep(given: unknown, place: Location, registry: StepRegistry): Fields {
  if (typeof given !== 'object' || given === null) {
    return { problems: [problemAt(place, '', 'invalid', 'must be an object')] }
  }
  const fields = splitStep(given)
  const base = StepBase.safeParse(fields.base, { error: explainIssue })
  const problems = base.success ? [] : toProblems(base.error, place)
  const name = fields.base['type']
  if (typeof name !== 'string') return { problems }
  const type = registry.get(name)
  if (!type) {
    const what = `"${name}" is not a kind of step: use one of ${[...registry.keys()].join(', ')}`
    return { problems: [...problems, problemAt(place, 'type', 'unknown_step_type', what)] }
  }
  const own = type.schema.safeParse(fields.own, { error: explainIssue })
  if (!own.success) problems.push(...toProblems(own.error, place))
  if (!base.success || !own.success) return { problems }
  return { base: base.data, type, config: own.data, problems }
}

function idOf(step: unknown): string | undefined {
  const id = getField(step, 'id')
  return typeof id === 'string' ? id : undefined
}

function placeOf(given: unknown, path: string, index: number): Location {
  const id = idOf(given)
  return id === undefined
    ? { stepId: null, path, name: `Step ${index + 1}` }
    : { stepId: id, path, name: `Step "${id}"` }
}

/** Brings a step into the form that runs: every way on is named. */
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
