import { findOverride } from './step-output-overrides.ts'
import { assignVariables } from '../decide/assign-variables.ts'
import { type CompiledDefinition, findStep } from '../model/compiled.ts'
import { isComplete } from '../model/is-complete.ts'
import { rebuildFrames } from './rebuild-frames.ts'
import {
  type JsonObject,
  type MessageFacts,
  queueRun,
  type RunState,
  type StepRecord,
  countVisits,
} from '../model/run.ts'
import type { StepRegistry } from '../model/step.ts'

/** A step as it was recorded. */
export type PastStep = Pick<StepRecord, 'stepId' | 'path' | 'status' | 'output' | 'branch' | 'error'>

export type Rebuild = {
  compiled: CompiledDefinition
  registry: StepRegistry
  /** The newest state of the run. */
  old: RunState
  /** All steps of the run, in order. */
  records: PastStep[]
  /** Which of them the new run begins with. */
  at: number
  id: string
  /** What the customer had said last by then. */
  message: MessageFacts | null
  /** What steps before are to have given instead. */
  stepOutputs: JsonObject
  now: Date
}

/** Why a state cannot be told any more: a step's output was not kept whole, or the list of a loop was not. */
export type NotRecorded = { lost: string }

/**
 * A queued run that begins with a step in the middle, and knows what the run knew when it came there: what each step
 * before gave, as it was recorded, and the variables that this filled in. A variable that was given at the start and
 * that only a later step has changed holds its default.
 */
export function rebuildState(rebuild: Rebuild): RunState | NotRecorded {
  const { compiled, old, records, at, id, message, now } = rebuild
  const { trigger, input, depth } = old
  const state = queueRun(compiled, { id, trigger, input, message, depth }, now)
  const later = assignedNames(rebuild)
  const given = Object.entries(old.variables).filter(([name]) => !later.has(name))
  state.variables = { ...state.variables, ...Object.fromEntries(given) }
  for (let index = 0; index < at; index += 1) {
    const stepId = relive(state, rebuild, index)
    if (stepId !== undefined) return { lost: stepId }
  }
  const frames = rebuildFrames(records, at, old)
  const stepId = records[at]?.stepId ?? old.stepId
  return frames ? { ...state, stepId, frames, stepsCount: at, idsCount: at } : { lost: stepId ?? '' }
}

/** The variables that some step of the run has filled in. */
function assignedNames({ compiled, registry, records }: Rebuild): Set<string> {
  return new Set(
    records.flatMap((record) => {
      const step = findStep(compiled, record.stepId)
      if (!step || record.status !== 'completed') return []
      return [...(step.saveAs ? [step.saveAs] : []), ...(registry.get(step.type)?.assigns(step.config) ?? [])]
    }),
  )
}

/** Does to the state what the step did. Gives its id if that is not known any more. */
function relive(state: RunState, rebuild: Rebuild, index: number): string | undefined {
  const { compiled, registry, records } = rebuild
  const record = records[index]
  const step = record && findStep(compiled, record.stepId)
  if (!record || !step) return undefined
  const { stepId, status, branch, error } = record
  const output = status === 'failed' ? { error } : outputOf(state, rebuild, index)
  if (!isComplete(output) && !isKnown(rebuild, index)) return stepId
  state.visits = { ...state.visits, [stepId]: countVisits(state, stepId) + 1 }
  if (status === 'skipped') return undefined
  state.steps = { ...state.steps, [stepId]: { output } }
  const isTimedOut = branch === 'timeout' && record.output === null
  if (status !== 'completed' || isTimedOut) return undefined
  const { saved = output, variables = {} } = registry.get(step.type)?.recall(step.config, output) ?? {}
  const keepsRound = branch === 'round'
  const changes = { ...variables, ...(step.saveAs && !keepsRound ? { [step.saveAs]: saved } : {}) }
  return assignVariables({ run: state, compiled }, changes) ? stepId : undefined
}

/** What the step gave: the newest state has it whole, if it was not done again since. */
function outputOf(state: RunState, rebuild: Rebuild, index: number): unknown {
  const { records, stepOutputs, old } = rebuild
  const record = records[index]
  if (!record) return null
  const told = findOverride(stepOutputs, record.stepId, countVisits(state, record.stepId))
  if (told) return told.ok ? told.output : { error: told.error }
  return isKnown(rebuild, index) ? (old.steps[record.stepId]?.output ?? null) : record.output
}

function isKnown({ records, old }: Rebuild, index: number): boolean {
  const { stepId = '' } = records[index] ?? {}
  const isLast = !records.slice(index + 1).some((other) => other.stepId === stepId && other.status !== 'skipped')
  return isLast && Object.hasOwn(old.steps, stepId)
}
