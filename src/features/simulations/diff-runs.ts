import { isDeepStrictEqual } from 'node:util'
import type { StepRecord } from '../../engine/model/run.ts'
import type { SimulatedRun } from '../../engine/simulate/simulate.ts'
import type { RecordedRun } from './load-recording.ts'
import type { RunDifference, StepDifference } from './schema.ts'

type Step = Pick<StepRecord, 'stepId' | 'iteration' | 'messageId' | 'error' | 'branch' | 'input' | 'output' | 'status'>

const FIELDS = ['status', 'input', 'output', 'branch', 'error'] as const

/** Compares the recorded and the simulated runs, paired by the message that started them. */
export function diffRuns(recorded: RecordedRun[], simulated: SimulatedRun[]): RunDifference[] {
  const unmatched = new Set(simulated)
  const pairs = recorded.map((before) => {
    const after = [...unmatched].find((run) => run.state.trigger['messageId'] === before.run.trigger.messageId)
    if (after) unmatched.delete(after)
    return diffRun(before, after)
  })
  return [...pairs, ...[...unmatched].map((after) => diffRun(undefined, after))]
}

function diffRun(recorded: RecordedRun | undefined, simulated: SimulatedRun | undefined): RunDifference {
  const steps = diffSteps(recorded?.steps ?? [], simulated?.steps ?? [])
  const sameAsRecorded =
    recorded !== undefined && simulated !== undefined && steps.every(({ change }) => change === 'same')
  return { recordedRunId: recorded?.run.id ?? null, simulatedRunId: simulated?.id ?? null, sameAsRecorded, steps }
}

/** Compares steps, paired by ID and iteration. Steps that are missing from the simulation come last. */
export function diffSteps(recorded: Step[], simulated: Step[]): StepDifference[] {
  const unmatched = new Map(recorded.map((step) => [stepKey(step), step]))
  const pairs = simulated.map((step) => {
    const before = unmatched.get(stepKey(step))
    unmatched.delete(stepKey(step))
    return diffStep(before, step)
  })
  return [...pairs, ...[...unmatched.values()].map((step) => diffStep(step, undefined))]
}

function diffStep(recorded: Step | undefined, simulated: Step | undefined): StepDifference {
  const { stepId = '', iteration = 0 } = simulated ?? recorded ?? {}
  const sides = {
    simulated: simulated ? toComparedFields(simulated) : null,
    recorded: recorded ? toComparedFields(recorded) : null,
  }
  if (!sides.recorded) return { stepId, iteration, change: 'added', fields: [], ...sides }
  if (!sides.simulated) return { stepId, iteration, change: 'missing', fields: [], ...sides }
  const [after, before] = [withoutMessageId(simulated), withoutMessageId(recorded)]
  const fields = FIELDS.filter((field) => !isDeepStrictEqual(after[field], before[field]))
  return { stepId, iteration, change: fields.length > 0 ? 'changed' : 'same', fields, ...sides }
}

function toComparedFields({ status, input, output, branch, error }: Step) {
  return { status, input: input ?? null, output: output ?? null, branch, error }
}

/** Replaces the ID of the sent message, which is a new one each time. */
function withoutMessageId(step: Step | undefined): Record<string, unknown> {
  if (!step) return {}
  const text = JSON.stringify(toComparedFields(step))
  const fields: Record<string, unknown> = JSON.parse(
    step.messageId === null ? text : text.replaceAll(step.messageId, 'message ID'),
  )
  return fields
}

function stepKey({ stepId, iteration }: Step): string {
  return `${stepId}:${iteration}`
}
