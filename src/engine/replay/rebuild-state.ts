import { assignVariables } from '../decide/assign-variables.ts'
import { type CompiledDefinition, findStep } from '../model/compiled.ts'
import { isComplete, type LoopRecord, rebuildFrames } from './rebuild-frames.ts'
import type { Registry } from '../model/registry.ts'
import { type JsonObject, type MessageFacts, type RunState, type StepRecord, countVisits } from '../model/run.ts'
import { queueRun } from '../model/new-run.ts'
import { findOverride } from './step-output-overrides.ts'

/** A recorded step. */
export type PastStep = LoopRecord & Pick<StepRecord, 'status' | 'error'>

export type Rebuild = {
  compiled: CompiledDefinition
  registry: Registry
  /** The latest state of the run. */
  old: RunState
  /** All steps of the run, in order. */
  records: PastStep[]
  /** Index of the record with which the new run starts. */
  at: number
  id: string
  /** The customer's latest message at that point. */
  message: MessageFacts | null
  /** Outputs that replace recorded ones, by step id. */
  stepOutputs: JsonObject
  now: Date
}

/** The step whose output, or whose loop's list, was not recorded completely, so that the state cannot be rebuilt. */
export type NotRecorded = { notRecorded: string }

/**
 * Builds a queued run that starts with a step in the middle, with the state that the old run had there: the recorded
 * outputs of all earlier steps and the variables that they assigned. A variable that was set at the start and that only
 * a later step changed has its default value.
 */
export function rebuildState(rebuild: Rebuild): RunState | NotRecorded {
  const { compiled, old, records, at, id, message, now } = rebuild
  const { trigger, input, depth } = old
  const initial = queueRun(compiled, { id, trigger, input, message, depth }, now)
  const assigned = listAssigned(rebuild)
  const unassigned = Object.entries(old.variables).filter(([name]) => !assigned.has(name))
  let state: RunState = { ...initial, variables: { ...initial.variables, ...Object.fromEntries(unassigned) } }
  for (let index = 0; index < at; index += 1) {
    const next = replayStep(state, rebuild, index)
    if ('notRecorded' in next) return next
    state = next
  }
  const frames = rebuildFrames(records, at, old)
  const stepId = records[at]?.stepId ?? old.stepId
  return frames ? { ...state, stepId, frames, stepsCount: at, idsCount: at } : { notRecorded: stepId ?? '' }
}

/** Lists the variables that a step of the run assigned. */
function listAssigned({ compiled, registry, records }: Rebuild): Set<string> {
  return new Set(
    records.flatMap((record) => {
      const step = findStep(compiled, record.stepId)
      if (!step || record.status !== 'completed') return []
      return [...(step.saveAs ? [step.saveAs] : []), ...(registry.steps.get(step.type)?.assigns(step.config) ?? [])]
    }),
  )
}

/** Returns the state after a recorded step. */
function replayStep(state: RunState, rebuild: Rebuild, index: number): RunState | NotRecorded {
  const { compiled, registry, records } = rebuild
  const record = records[index]
  const step = record && findStep(compiled, record.stepId)
  if (!record || !step) return state
  const { stepId, status, branch, error } = record
  const output = status === 'failed' ? { error } : findOutput(state, rebuild, index)
  if (!isComplete(output) && !isInState(rebuild, index)) return { notRecorded: stepId }
  const visits = { ...state.visits, [stepId]: countVisits(state, stepId) + 1 }
  if (status === 'skipped') return { ...state, visits }
  const replayed = { ...state, visits, steps: { ...state.steps, [stepId]: { output } } }
  const isTimedOut = branch === 'timeout' && record.output === null
  if (status !== 'completed' || isTimedOut) return replayed
  const { saved = output, variables = {} } = registry.steps.get(step.type)?.restoreOutput(step.config, output) ?? {}
  const isSaved = step.saveAs !== null && branch !== 'iteration'
  const changes = { ...variables, ...(isSaved && step.saveAs ? { [step.saveAs]: saved } : {}) }
  const assignment = assignVariables(replayed, compiled, changes)
  return assignment.failure ? { notRecorded: stepId } : { ...replayed, variables: assignment.variables }
}

/** Returns the output of a step: from the latest state, which is complete, unless the step was executed again. */
function findOutput(state: RunState, rebuild: Rebuild, index: number): unknown {
  const { records, stepOutputs, old } = rebuild
  const record = records[index]
  if (!record) return null
  const override = findOverride(stepOutputs, record.stepId, countVisits(state, record.stepId))
  if (override) return override.ok ? override.output : { error: override.error }
  return isInState(rebuild, index) ? (old.steps[record.stepId]?.output ?? null) : record.output
}

function isInState({ records, old }: Rebuild, index: number): boolean {
  const { stepId = '' } = records[index] ?? {}
  const isLast = !records.slice(index + 1).some((other) => other.stepId === stepId && other.status !== 'skipped')
  return isLast && Object.hasOwn(old.steps, stepId)
}
