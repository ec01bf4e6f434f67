import type { CompiledStep } from './compiled.ts'
import { END } from './definition/names.ts'
import { explainIssue, problemAt, problemsOf, type Place, type Problem } from './definition/problem.ts'
import { splitStep, StepBase } from './definition/step-base.ts'
import type { StepRegistry, StepType } from './step.ts'

/** A step that its schemas accept; whether it fits among the others is still open. */
export type ReadStep = { place: Place; base: StepBase; type: StepType; config: Record<string, unknown> }

export function compileStep(
  given: unknown,
  index: number,
  registry: StepRegistry,
): { place: Place; value: ReadStep | null; problems: Problem[] } {
  const place = placeOf(given, index)
  if (typeof given !== 'object' || given === null) {
    return { place, value: null, problems: [problemAt(place, '', 'invalid', 'must be an object')] }
  }
  const fields = splitStep(given)
  const base = StepBase.safeParse(fields.base, { error: explainIssue })
  const problems = base.success ? [] : problemsOf(base.error, place)
  const name = fields.base['type']
  if (typeof name !== 'string') return { place, value: null, problems }
  const type = registry.get(name)
  if (!type) {
    const what = `"${name}" is not a kind of step: use one of ${[...registry.keys()].join(', ')}`
    return { place, value: null, problems: [...problems, problemAt(place, 'type', 'unknown_step_type', what)] }
  }
  const own = type.schema.safeParse(fields.own, { error: explainIssue })
  if (!own.success) problems.push(...problemsOf(own.error, place))
  if (!base.success || !own.success) return { place, value: null, problems }
  return { place, value: { place, base: base.data, type, config: own.data }, problems }
}

function placeOf(given: unknown, index: number): Place {
  const id: unknown = typeof given === 'object' && given !== null ? Reflect.get(given, 'id') : undefined
  const path = `steps.${index}`
  return typeof id === 'string'
    ? { stepId: id, path, name: `Step "${id}"` }
    : { stepId: null, path, name: `Step ${index + 1}` }
}

/** Names every way on: a step that does not say where goes on with the one that follows, the last one ends. */
export function linkSteps(steps: ReadStep[]): CompiledStep[] {
  return steps.map(({ base, type, config }, index) => {
    const skip = base.next ?? steps[index + 1]?.base.id ?? END
    return {
      id: base.id,
      type: base.type,
      name: base.name ?? null,
      if: base.if ?? null,
      disabled: base.disabled,
      next: type.onwards(config) === 'falls_through' ? skip : (base.next ?? END),
      skip,
      onError: base.onError,
      retry: base.retry ?? null,
      timeoutMs: base.timeout ?? null,
      onTimeout: base.onTimeout ?? null,
      saveAs: base.saveAs ?? null,
      config,
    }
  })
}
