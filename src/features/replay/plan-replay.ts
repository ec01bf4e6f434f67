import { isDeepStrictEqual } from 'node:util'
import { assignVariables } from '../../engine/decide/assign-variables.ts'
import { type CompiledDefinition, findStep } from '../../engine/model/compiled.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import type { RunState } from '../../engine/model/run.ts'
import type { Run as RunRow } from '../../models/automation/run.ts'
import { RunStep as StepRow } from '../../models/automation/run-step.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { assertExternalSteps, assertKnownSteps } from '../simulations/simulate-external-calls.ts'
import { startReplay } from './start-replay.ts'
import { findStart, isStepId } from './find-start.ts'
import { loadReplayed } from './load-replayed.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import type { ReplayRun } from '../runs/schema.ts'

export type ReplayPlan = {
  subject: PublishedWorkflow
  /** Queued, and with all that was overridden. */
  state: RunState
  /** How many steps of the old run the new one takes over as they were. */
  takenOver: number
  records: StepRow[]
}

/** What a replay begins with. Everything that cannot be is refused before anything is written. */
export async function planReplay(scope: Scope, old: RunRow, options: ReplayRun): Promise<ReplayPlan> {
  const { stepOutputs = {}, input, variables = {} } = options
  const records = await scope.query(StepRow).where('runId', old.id).orderBy('index')
  const subject = await loadReplayed(scope, old, options)
  const { compiled } = subject
  if (isStepId(options.from)) assertKnownSteps(compiled, [options.from])
  const { takenOver, stepId } = findStart(old, records, options)
  if (stepId !== null) assertKnownSteps(compiled, [stepId])
  refuseOutputs(compiled, Object.keys(stepOutputs), records.slice(0, takenOver))
  if (subject.version !== old.workflowVersion) await refuseChanges(scope, { old, records, takenOver, compiled })
  const begun = await startReplay(scope, { old, records, takenOver, compiled, stepOutputs })
  const state = { ...begun, ...(stepId === null ? {} : { stepId }), ...(input === undefined ? {} : { input }) }
  const assigned = assignVariables(state, compiled, variables)
  if (!assigned.failure) {
    return { subject, state: { ...state, variables: assigned.variables }, takenOver, records }
  }
  throw new UnprocessableError(
    'type_mismatch',
    'A variable cannot hold what it is given: see how the workflow declares it',
  )
}

/** A step that is taken over may have given anything; one that is done again, only what the outside would answer. */
function refuseOutputs(compiled: CompiledDefinition, stepIds: string[], past: StepRow[]): void {
  assertKnownSteps(compiled, stepIds)
  const done = new Set(past.map(({ stepId }) => stepId))
  assertExternalSteps(
    compiled,
    stepIds.filter((stepId) => !done.has(stepId)),
  )
}

type Taken = { old: RunRow; records: StepRow[]; takenOver: number; compiled: CompiledDefinition }

/** Steps that are taken over must be what they were. */
async function refuseChanges(scope: Scope, { old, records, takenOver, compiled }: Taken): Promise<void> {
  const { workflowId, workflowVersion: version } = old
  const before = (await loadVersions(scope, [{ workflowId, version }])).get(`${workflowId}:${version}`)
  const ids = new Set(records.slice(0, takenOver).map(({ stepId }) => stepId))
  const changed = [...ids].find((id) => !isSame(before, compiled, id))
  if (changed === undefined) return
  throw new UnprocessableError(
    'definition_changed',
    `Step "${changed}" comes before the one to begin with, and is not what it was. Replay from it, or from the start`,
    { stepId: changed },
  )
}

/** What comes after a step may differ: it is not gone there again. */
function isSame(before: CompiledDefinition | undefined, now: CompiledDefinition, id: string): boolean {
  const [then, today] = [before && findStep(before, id), findStep(now, id)]
  if (!then || !today) return false
  const fallthrough = { next: '', skip: '' }
  return isDeepStrictEqual({ ...then, ...fallthrough }, { ...today, ...fallthrough })
}
