import type { EngineEvent, EffectRequest } from '../model/decision.ts'
import type { JsonObject, RunState } from '../model/run.ts'
import type { ExternalResult } from '../model/step.ts'

/**
 * What a step is told instead of asking the outside: by step id an output, or `{ error: { code, message } }`, or
 * `{ rounds: [one for each time] }`. Undefined if nobody said.
 */
export function findOverride(answers: JsonObject, stepId: string, iteration: number): ExternalResult | undefined {
  return Object.hasOwn(answers, stepId) ? resultOf(roundOf(answers[stepId], iteration)) : undefined
}

/** An object with nothing but `rounds` has an output for each time that the step is done; the last one stays. */
function roundOf(given: unknown, iteration: number): unknown {
  const rounds = onlyField(given, 'rounds')
  return Array.isArray(rounds) ? (rounds[iteration] ?? rounds.at(-1) ?? null) : given
}

/** An object with nothing but an `error` is how a step fails. */
function resultOf(given: unknown): ExternalResult {
  const error = onlyField(given, 'error')
  if (typeof error !== 'object' || error === null) return { ok: true, output: given ?? null }
  const { code, message } = error as JsonObject
  return {
    ok: false,
    error: {
      code: typeof code === 'string' ? code : 'failed',
      message: typeof message === 'string' ? message : 'The step was told to fail',
      retryable: false,
    },
  }
}

function onlyField(given: unknown, name: string): unknown {
  if (typeof given !== 'object' || given === null || Object.keys(given).length !== 1) return undefined
  return Reflect.get(given, name)
}

type Answered = Extract<EngineEvent, { type: 'external_result' }>

/** What a step asks of the outside, and was told beforehand, needs nobody to do it. */
export function splitOverridden({ answers, open }: RunState, effects: EffectRequest[]): [Answered[], EffectRequest[]] {
  if (!answers || !open) return [[], effects]
  const [answered, wanted]: [Answered[], EffectRequest[]] = [[], []]
  for (const placed of effects) {
    const { stepId, effect } = placed
    const result = effect.type === 'external' ? findOverride(answers, stepId, open.iteration) : undefined
    if (result) answered.push({ type: 'external_result', epoch: Number(effect['epoch']), result })
    else wanted.push(placed)
  }
  return [answered, wanted]
}
