import { resolveTarget, type CompiledDefinition, type CompiledStep } from '../../engine/model/compiled.ts'
import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { WINDOW_MS } from '../conversations/service-window.ts'
import { listSteps } from '../workflows/stored-definition.ts'
import { stepTypes } from '../../steps/index.ts'

/** A way on, and how long it may be since the customer wrote once it is taken. */
type Way = { to: string; ms: number }

/**
 * Warns of messages that may come when the customer last wrote more than 24 hours ago, as far as the waits of the
 * workflow itself bring that about.
 */
export function checkWindow(compiled: CompiledDefinition, definition: unknown): Problem[] {
  const silence = measureSilence(compiled)
  const late = new Set(compiled.steps.filter((step) => isAtRisk(step, silence.get(step.id))).map(({ id }) => id))
  return listSteps(definition)
    .filter(({ place }) => place.stepId !== null && late.has(place.stepId))
    .map(({ place, fields }) => problemAt(place, '', 'outside_window_possible', describe(fields['type'])))
}

function describe(type: unknown): string {
  const what = 'may come more than 24 hours after the customer wrote, when it cannot be sent'
  return type === 'send_message' ? `${what}: say with ifWindowClosed or onError what to do then` : what
}

function isAtRisk({ type, config, onError, disabled }: CompiledStep, ms = 0): boolean {
  const isSaid = config['ifWindowClosed'] === 'skip' || onError !== 'fail'
  return ms >= WINDOW_MS && !disabled && !isSaid && (type === 'send_message' || type === 'ask')
}

/** For each step, the longest that the customer may have been silent when it is reached; a day stands for all above. */
function measureSilence(compiled: CompiledDefinition): Map<string, number> {
  const { steps } = compiled
  const byId = new Map(steps.map((step) => [step.id, step]))
  const silence = new Map<string, number>()
  const ahead: Way[] = steps[0] ? [{ to: steps[0].id, ms: 0 }] : []
  for (let reached = ahead.pop(); reached; reached = ahead.pop()) {
    const step = byId.get(reached.to)
    const ms = Math.min(reached.ms, WINDOW_MS)
    if (!step || (silence.get(step.id) ?? -1) >= ms) continue
    silence.set(step.id, ms)
    ahead.push(...waysOf(step, ms).map((way) => ({ ...way, to: resolveTarget(compiled, step, way.to) })))
  }
  return silence
}

function waysOf(step: CompiledStep, before: number): Way[] {
  const { next, skip, body, onTimeout, onError, timeoutMs, config, disabled } = step
  if (disabled) return [{ to: skip, ms: before }]
  const type = stepTypes.get(step.type)
  const asks = step.type === 'ask' || step.type === 'wait_for_reply'
  // A reply ends the silence; a wait for one that ends by itself does not.
  const done = asks ? 0 : before + waitOf(step)
  const timedOut = before + (timeoutMs ?? 0)
  const fallthrough = type?.fallthrough(config) === 'never' ? [] : [{ to: next, ms: done }]
  return [
    ...fallthrough,
    ...(body === null ? [] : [{ to: body, ms: before }]),
    ...(type?.targets(config) ?? []).map(({ to }) => ({ to, ms: done })),
    ...(step.if || onError === 'continue' ? [{ to: skip, ms: before }] : []),
    ...(onError === 'fail' || onError === 'continue' ? [] : [{ to: onError, ms: done }]),
    ...(timeoutMs === null ? [] : [{ to: onTimeout ?? next, ms: timedOut }]),
  ]
}

/** A moment that a placeholder names may be any. */
function waitOf({ type, config, timeoutMs }: CompiledStep): number {
  const { for: ms, until, resumeAfter } = config
  if (type === 'wait') return typeof ms === 'number' ? ms : until === undefined ? 0 : WINDOW_MS
  if (type === 'handoff') return typeof resumeAfter === 'number' ? resumeAfter : 0
  if (type === 'wait_for_event') return timeoutMs ?? WINDOW_MS
  return 0
}
