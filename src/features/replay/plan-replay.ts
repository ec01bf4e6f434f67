import { isDeepStrictEqual } from 'node:util'
import { assignVariables } from '../../engine/decide/assign-variables.ts'
import { type CompiledDefinition, findStep } from '../../engine/model/compiled.ts'
import type { RunState } from '../../engine/model/run.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import { type Run as RunRow, RunStep as StepRow } from '../../models/automation.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import type { ReplayRun } from '../runs/schema.ts'
import { assertExternalSteps, assertKnownSteps } from '../simulations/simulate-external-calls.ts'
import { findStart, isStepId } from './find-start.ts'
import { buildInitialState } from './build-initial-state.ts'
import { loadSimulatedWorkflow } from '../simulations/load-simulated-workflow.ts'
import { getWorkflow } from '../workflows/queries.ts'

export type ReplayPlan = {
  workflow: PublishedWorkflow
  /** State of the queued run, with all overrides applied. */
  state: RunState
  /** Number of recorded steps that the replay reuses. */
  reusedCount: number
  records: StepRow[]
}

/** Validates a replay and computes its initial state, before anything is written. */
export async function planReplay(scope: Scope, original: RunRow, options: ReplayRun): Promise<ReplayPlan> {
  const { stepOutputs = {}, input, variables = {} } = options
  const records = await scope.query(StepRow).where('runId', original.id).orderBy('index')
  const workflow = await loadReplayWorkflow(scope, original, options)
  const { compiled } = workflow
  if (isStepId(options.from)) assertKnownSteps(compiled, [options.from])
  const { reusedCount, stepId } = findStart(original, records, options)
  if (stepId !== null) assertKnownSteps(compiled, [stepId])
  const reused = records.slice(0, reusedCount)
  assertOutputsAllowed(compiled, Object.keys(stepOutputs), reused)
  if (workflow.version !== original.workflowVersion) await assertUnchanged(scope, { original, reused, compiled })
  const initial = await buildInitialState(scope, { original, records, reusedCount, compiled, stepOutputs })
  const state = { ...initial, ...(stepId === null ? {} : { stepId }), ...(input === undefined ? {} : { input }) }
  const assigned = assignVariables(state, compiled, variables)
  if (!assigned.failure) {
    return { workflow, state: { ...state, variables: assigned.variables }, reusedCount, records }
  }
  throw new UnprocessableError(
    'type_mismatch',
    'The value of a variable does not have its declared type. See the variables of the workflow',
  )
}

/** Allows outputs of all reused steps. Among the steps that run again, only results of external calls can be replaced. */
function assertOutputsAllowed(compiled: CompiledDefinition, stepIds: string[], reused: StepRow[]): void {
  assertKnownSteps(compiled, stepIds)
  const reusedIds = new Set(reused.map(({ stepId }) => stepId))
  assertExternalSteps(
    compiled,
    stepIds.filter((stepId) => !reusedIds.has(stepId)),
  )
}

type ReusedSteps = { original: RunRow; reused: StepRow[]; compiled: CompiledDefinition }

/** @throws UnprocessableError `definition_changed` if the definition of a reused step has changed */
async function assertUnchanged(scope: Scope, { original, reused, compiled }: ReusedSteps): Promise<void> {
  const { workflowId, workflowVersion: version } = original
  const previous = (await loadVersions(scope, [{ workflowId, version }])).get(`${workflowId}:${version}`)
  const ids = new Set(reused.map(({ stepId }) => stepId))
  const changed = [...ids].find((id) => !isSameStep(previous, compiled, id))
  if (changed === undefined) return
  throw new UnprocessableError(
    'definition_changed',
    `Step "${changed}", which would be reused, has changed since the run. Replay from this step, or from the start`,
    { stepId: changed },
  )
}

/** Compares two definitions of a step, except for the steps that follow it. */
function isSameStep(previous: CompiledDefinition | undefined, compiled: CompiledDefinition, id: string): boolean {
  const [before, after] = [previous && findStep(previous, id), findStep(compiled, id)]
  if (!before || !after) return false
  const fallthrough = { next: '', skip: '' }
  return isDeepStrictEqual({ ...before, ...fallthrough }, { ...after, ...fallthrough })
}

/** Loads the workflow that a replay executes: at the version of the original run, unless another one is requested. */
async function loadReplayWorkflow(
  scope: Scope,
  { workflowId, workflowVersion }: RunRow,
  { version, mode }: Pick<ReplayRun, 'version' | 'mode'>,
): Promise<PublishedWorkflow> {
  if (version === 'draft') {
    if (mode === 'dry_run') return loadSimulatedWorkflow(scope, { workflowId })
    throw new UnprocessableError(
      'draft_requires_dry_run',
      'A draft can only be replayed with mode "dry_run". Publish the draft to replay it live',
    )
  }
  if (version !== 'published') {
    return loadSimulatedWorkflow(scope, { workflowId, version: version === 'original' ? workflowVersion : version })
  }
  const { version: published, status } = await getWorkflow(scope, { workflowId })
  if (published !== null && status === 'published')
    return loadSimulatedWorkflow(scope, { workflowId, version: published })
  throw new UnprocessableError('not_published', 'The workflow is not published. Pass a version number instead')
}
