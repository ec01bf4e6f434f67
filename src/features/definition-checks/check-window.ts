import { resolveTarget, type CompiledDefinition, type CompiledStep } from '../../engine/model/compiled.ts'
import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { WINDOW_MS } from '../conversations/service-window.ts'
import { listSteps } from '../workflows/stored-definition.ts'
import { stepTypes } from '../../steps/index.ts'
import { readTemplatePart } from '../../steps/messages/template-message.ts'

/** A possible next step, with the longest time since the customer's last message when it is reached. */
type Transition = { to: string; ms: number }

/**
 * Warns of messages that may be sent more than 24 hours after the customer's last message because of the waits of the
 * workflow itself.
 */
export function checkWindow(compiled: CompiledDefinition, definition: unknown): Problem[] {
  const silence = measureSilence(compiled)
  const late = new Set(compiled.steps.filter((step) => isAtRisk(step, silence.get(step.id))).map(({ id }) => id))
  return listSteps(definition)
    .filter(({ location }) => location.stepId !== null && late.has(location.stepId))
    .map(({ location, fields }) => problemAt(location, '', 'outside_window_possible', describe(fields['type'])))
}

function describe(type: unknown): string {
  const description = 'may run more than 24 hours after the last message of the customer, when it cannot be sent'
  return `${description}: set ifWindowClosed to ${type === 'ask' ? 'a template' : 'skip or a template'}, or onError, to handle this`
}

function isAtRisk({ type, config, onError, disabled }: CompiledStep, ms = 0): boolean {
  const isTemplate = readTemplatePart(config['message']) !== undefined
  const isHandled = isTemplate || (config['ifWindowClosed'] ?? 'fail') !== 'fail' || onError !== 'fail'
  return ms >= WINDOW_MS && !disabled && !isHandled && (type === 'send_message' || type === 'ask')
}

/** Longest time since the customer's last message when a step is reached, by step ID and capped at one day. */
function measureSilence(compiled: CompiledDefinition): Map<string, number> {
  const { steps } = compiled
  const byId = new Map(steps.map((step) => [step.id, step]))
  const silence = new Map<string, number>()
  const pending: Transition[] = steps[0] ? [{ to: steps[0].id, ms: 0 }] : []
  for (let current = pending.pop(); current; current = pending.pop()) {
    const step = byId.get(current.to)
    const ms = Math.min(current.ms, WINDOW_MS)
    if (!step || (silence.get(step.id) ?? -1) >= ms) continue
    silence.set(step.id, ms)
    pending.push(
      ...listTransitions(step, ms).map((transition) => ({
        ...transition,
        to: resolveTarget(compiled, step, transition.to),
      })),
    )
  }
  return silence
}

function listTransitions(step: CompiledStep, elapsedMs: number): Transition[] {
  const { next, skip, body, onTimeout, onError, timeoutMs, config, disabled } = step
  if (disabled) return [{ to: skip, ms: elapsedMs }]
  const type = stepTypes.get(step.type)
  const waitsForReply = type?.awaits === 'reply'
  // A reply resets the time; a wait for a reply that times out does not.
  const completedMs = waitsForReply ? 0 : elapsedMs + waitMs(step)
  const timedOutMs = elapsedMs + (timeoutMs ?? 0)
  const fallthrough = type?.fallthrough(config) === 'never' ? [] : [{ to: next, ms: completedMs }]
  return [
    ...fallthrough,
    ...(body === null ? [] : [{ to: body, ms: elapsedMs }]),
    ...(type?.targets(config) ?? []).map(({ to }) => ({ to, ms: completedMs })),
    ...(step.if || onError === 'continue' ? [{ to: skip, ms: elapsedMs }] : []),
    ...(onError === 'fail' || onError === 'continue' ? [] : [{ to: onError, ms: completedMs }]),
    ...(timeoutMs === null ? [] : [{ to: onTimeout ?? next, ms: timedOutMs }]),
  ]
}

/** Duration of a step's wait. A time given by a placeholder can be any, so it counts as a day. */
function waitMs({ type, config, timeoutMs }: CompiledStep): number {
  const { for: ms, until, resumeAfter } = config
  if (type === 'wait') return typeof ms === 'number' ? ms : until === undefined ? 0 : WINDOW_MS
  if (type === 'handoff') return typeof resumeAfter === 'number' ? resumeAfter : 0
  if (type === 'wait_for_event') return timeoutMs ?? WINDOW_MS
  return 0
}
