import { isDeepStrictEqual } from 'node:util'
import type { StepRecord } from '../../engine/model/run.ts'
import type { SimulatedRun } from '../../engine/simulate/simulate.ts'
import type { RecordedRun } from './load-recording.ts'
import type { RunDifference, StepDifference } from './schema.ts'

type Step = Pick<StepRecord, 'stepId' | 'iteration' | 'messageId' | 'error' | 'branch' | 'input' | 'output' | 'status'>

const FIELDS = ['status', 'input', 'output', 'branch', 'error'] as const

/** Sets side by side the runs that the same message started, now and then. */
export function diffRuns(recorded: RecordedRun[], simulated: SimulatedRun[]): RunDifference[] {
  const left = new Set(simulated)
  const pairs = recorded.map((then) => {
    const now = [...left].find((run) => run.state.trigger['messageId'] === then.run.trigger.messageId)
    if (now) left.delete(now)
    return diffRun(then, now)
  })
  return [...pairs, ...[...left].map((now) => diffRun(undefined, now))]
}

function diffRun(then: RecordedRun | undefined, now: SimulatedRun | undefined): RunDifference {
  const steps = diffSteps(then?.steps ?? [], now?.steps ?? [])
  const same = then !== undefined && now !== undefined && steps.every(({ change }) => change === 'same')
  return { recordedRunId: then?.run.id ?? null, simulatedRunId: now?.id ?? null, same, steps }
}

/** Steps are the same one if they are the same time at the same place; those that are missing now come last. */
export function diffSteps(recorded: Step[], simulated: Step[]): StepDifference[] {
  const then = new Map(recorded.map((step) => [keyOf(step), step]))
  const present = simulated.map((step) => {
    const before = then.get(keyOf(step))
    then.delete(keyOf(step))
    return compare(before, step)
  })
  return [...present, ...[...then.values()].map((step) => compare(step, undefined))]
}

function compare(recorded: Step | undefined, simulated: Step | undefined): StepDifference {
  const { stepId = '', iteration = 0 } = simulated ?? recorded ?? {}
  const sides = {
    simulated: simulated ? comparedOf(simulated) : null,
    recorded: recorded ? comparedOf(recorded) : null,
  }
  if (!sides.recorded) return { stepId, iteration, change: 'added', fields: [], ...sides }
  if (!sides.simulated) return { stepId, iteration, change: 'missing', fields: [], ...sides }
  const [now, before] = [placeless(simulated), placeless(recorded)]
  const fields = FIELDS.filter((field) => !isDeepStrictEqual(now[field], before[field]))
  return { stepId, iteration, change: fields.length > 0 ? 'changed' : 'same', fields, ...sides }
}

function comparedOf({ status, input, output, branch, error }: Step) {
  return { status, input: input ?? null, output: output ?? null, branch, error }
}

/** A message that is sent gets an id of its own each time, which makes no difference. */
function placeless(step: Step | undefined): Record<string, unknown> {
  if (!step) return {}
  const text = JSON.stringify(comparedOf(step))
  return JSON.parse(step.messageId === null ? text : text.replaceAll(step.messageId, 'its message')) as Record<
    string,
    unknown
  >
}

function keyOf({ stepId, iteration }: Step): string {
  return `${stepId}:${iteration}`
}
