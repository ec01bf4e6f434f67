import { listStepTypes } from '../../steps/index.ts'
import { findOverride } from '../../engine/replay/step-output-overrides.ts'
import { findStep, type CompiledDefinition } from '../../engine/model/compiled.ts'
import { closestMatches } from '../../platform/closest-matches.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import type { ExternalRequest } from '../../engine/simulate/simulated-world.ts'
import type { ExternalResult } from '../../engine/model/step.ts'
import { getField } from '../../platform/fields.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { RecordedRun } from './load-recording.ts'

/**
 * Provides the results of external calls: the output in the request, or else the one that was recorded for the same
 * iteration of the step in the run that the same message started.
 */
export function simulateExternalCalls(stepOutputs: JsonObject, recorded: RecordedRun[] = []) {
  return ({ stepId, iteration, trigger, request }: ExternalRequest): ExternalResult | undefined => {
    const override = findOverride(stepOutputs, stepId, iteration)
    if (override) return override
    const messageId = trigger['messageId'] ?? null
    const recording = recorded.find(({ run }) => run.trigger.messageId === messageId)
    // Without another run nothing is throttled.
    if (isThrottle(request) && !recording) return { ok: true, output: { isAllowed: true, endsAt: null } }
    const step = recording?.steps.find((one) => one.stepId === stepId && one.iteration === iteration)
    if (step?.status === 'completed') return { ok: true, output: step.output }
    return step?.error ? { ok: false, error: { ...step.error, retryable: false } } : undefined
  }
}

function isThrottle(request: unknown): boolean {
  return getField(request, 'type') === 'throttle'
}

/** @throws UnprocessableError `unknown_step` with similar step IDs */
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

/** Types of steps whose output comes from outside of the decision, so that it can be overridden. */
export const EXTERNAL_STEPS: ReadonlySet<string> = new Set(listStepTypes('result'))

/** @throws UnprocessableError `not_external_step`, since the output of other steps follows from their input */
export function assertExternalSteps(compiled: CompiledDefinition, stepIds: string[]): void {
  const internal = stepIds.find((stepId) => !EXTERNAL_STEPS.has(findStep(compiled, stepId)?.type ?? ''))
  if (internal === undefined) return
  throw new UnprocessableError(
    'not_external_step',
    `Step "${internal}" makes no external call, so its output cannot be overridden. Change its input instead`,
    { stepId: internal },
  )
}
