import { getField } from '../../platform/fields.ts'
import { STEPS_MAX } from '../language/definition/definition.ts'
import { CONTINUE, END, variablePath } from '../language/definition/names.ts'
import {
  describeUnknownType,
  locateStep,
  PARSING,
  problemAt,
  toProblems,
  type Location,
  type Problem,
} from '../language/definition/problems.ts'
import { splitStep, type StepBase } from '../language/definition/step-base.ts'
import type { CompiledDefinition, CompiledStep } from '../model/compiled.ts'
import type { Registry } from '../model/registry.ts'
import { assignsNothing, type StepType } from '../model/step.ts'

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

/**
 * A step with its problems. `value` is null if its schemas reject it, and `assigned` if it cannot be known which variables
 * it assigns.
 */
export type StepResult = {
  location: Location
  value: ParsedStep | null
  assigned: string[] | null
  problems: Problem[]
}

/** The position of a list of steps: its path in the definition, and the loops around it. */
type List = { path: string; loops: string[] }

const ROOT: List = { path: 'steps', loops: [] }
const LOOPS_DEPTH_MAX = 5

/**
 * Parses a list of steps, each loop followed by its body, so that the order of the source is kept. The body of a loop that
 * is invalid itself is parsed as well: other steps may refer to its steps. Stops at the first step beyond the limit of
 * steps, which shows that there are too many.
 */
export function parseSteps(
  sources: unknown[],
  registry: Registry,
  list: List = ROOT,
  count = { left: STEPS_MAX + 1 },
): StepResult[] {
  return sources.slice(0, count.left).flatMap((source, index) => {
    if (count.left === 0) return []
    count.left -= 1
    const location = locateStep(readId(source), `${list.path}.${index}`, index)
    const fields = parseFields(source, location, registry)
    const body = listBody(source, fields)
    const depth = body.length > 0 ? checkDepth(location, list) : []
    const following = readId(sources[index + 1]) ?? (list.loops.length > 0 ? CONTINUE : END)
    const value = toParsedStep(fields, { location, following, loops: list.loops, body: readId(body[0]) ?? null })
    const result = { location, value, assigned: listAssigned(source, fields), problems: [...fields.problems, ...depth] }
    const inner = { path: `${location.path}.steps`, loops: [...list.loops, readId(source) ?? ''] }
    return [result, ...(depth.length > 0 ? [] : parseSteps(body, registry, inner, count))]
  })
}

function toParsedStep(
  { base, type, config }: Fields,
  { following, ...place }: Pick<ParsedStep, 'location' | 'loops' | 'body'> & { following: string },
): ParsedStep | null {
  if (!base || !type || !config) return null
  const { steps: _, ...configWithoutBody } = config
  return { ...place, base, type, config: type.hasBody ? configWithoutBody : config, skip: base.next ?? following }
}

/** Lists the steps of a loop. A step of an unknown type that has steps is probably meant to be one. */
function listBody(source: unknown, { type }: Fields): unknown[] {
  const steps = type === undefined || type.hasBody ? getField(source, 'steps') : undefined
  return Array.isArray(steps) ? steps : []
}

function listAssigned(source: unknown, { base, type, config }: Fields): string[] | null {
  const saved = base ? base.saveAs : variablePath.safeParse(getField(source, 'saveAs')).data
  const own = config ? type?.assigns(config) : type?.assigns === assignsNothing ? [] : null
  return own ? [...own, ...(saved === undefined ? [] : [saved])] : null
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
  const base = registry.stepBase.safeParse(fields.base, PARSING)
  const common = Object.keys(registry.stepBase.shape)
  const problems = base.success ? [] : toProblems(base.error, location, { name: 'a step' })
  const name = fields.base['type']
  if (typeof name !== 'string') return { problems }
  const type = registry.steps.get(name)
  if (!type) {
    const part = { location, code: 'unknown_step_type' }
    const unknown = describeUnknownType(part, 'step type', { name, names: [...registry.steps.keys()] })
    return { problems: [...problems, ...unknown] }
  }
  const config = type.schema.safeParse(fields.own, PARSING)
  if (!config.success) problems.push(...toProblems(config.error, location, { name, common }))
  return {
    type,
    ...(base.success ? { base: base.data } : {}),
    ...(config.success ? { config: config.data } : {}),
    problems,
  }
}

function readId(step: unknown): string | undefined {
  const id = getField(step, 'id')
  return typeof id === 'string' ? id : undefined
}

export function compileSteps(steps: ParsedStep[]): Pick<CompiledDefinition, 'steps' | 'index'> {
  return {
    steps: steps.map(compileStep),
    index: Object.fromEntries(steps.map(({ base }, index) => [base.id, index])),
  }
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
