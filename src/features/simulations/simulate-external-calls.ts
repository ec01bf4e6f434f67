import { findOverride } from '../../engine/replay/step-output-overrides.ts'
import { findStep, type CompiledDefinition } from '../../engine/model/compiled.ts'
import { closestMatches } from '../../engine/language/closest-matches.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import type { ExternalRequest } from '../../engine/simulate/simulate.ts'
import type { ExternalResult } from '../../engine/model/step.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { RecordedRun } from './load-recording.ts'

/**
 * Answers for the outside: what the caller says of a step, or else what was recorded of it the same time round, in the
 * run that the same message started.
 */
export function simulateExternalCalls(stepOutputs: JsonObject, recorded: RecordedRun[] = []) {
  return ({ stepId, iteration, trigger }: ExternalRequest): ExternalResult | undefined => {
    const told = findOverride(stepOutputs, stepId, iteration)
    if (told) return told
    const messageId = trigger['messageId'] ?? null
    const same = recorded.find(({ run }) => run.trigger.messageId === messageId)
    const step = same?.steps.find((one) => one.stepId === stepId && one.iteration === iteration)
    if (step?.status === 'completed') return { ok: true, output: step.output }
    return step?.error ? { ok: false, error: { ...step.error, retryable: false } } : undefined
  }
}

/** @throws UnprocessableError `unknown_step` with the ids that are nearest */
export function assertKnownSteps(compiled: CompiledDefinition, stepIds: string[]): void {
  const unknown = stepIds.find((stepId) => !findStep(compiled, stepId))
  if (unknown === undefined) return
  const nearest = closestMatches(
    unknown,
    compiled.steps.map(({ id }) => id),
  )
  const hint = nearest.length > 0 ? `. Did you mean ${nearest.map((id) => `"${id}"`).join(', ')}?` : ''
  throw new UnprocessableError('unknown_step', `The workflow has no step "${unknown}"${hint}`, {
    stepId: unknown,
    nearest,
  })
}

/** The types of steps that ask the outside, so that somebody else can say what they give. */
export const EXTERNAL_STEPS: ReadonlySet<string> = new Set(['http', 'tool', 'ai', 'run_workflow'])

/** @throws UnprocessableError `not_external_step`: what the others give follows from what is said and from what they are */
export function assertExternalSteps(compiled: CompiledDefinition, stepIds: string[]): void {
  const inside = stepIds.find((stepId) => !EXTERNAL_STEPS.has(findStep(compiled, stepId)?.type ?? ''))
  if (inside === undefined) return
  throw new UnprocessableError(
    'not_external_step',
    `Step "${inside}" asks nothing of the outside, so its output cannot be given. Change what it is given instead`,
    { stepId: inside },
  )
}
