import { isDeepStrictEqual } from 'node:util'
import { assignVariables } from '../../engine/decide/assign-variables.ts'
import { closestMatches } from '../../platform/closest-matches.ts'
import { type CompiledDefinition, findStep } from '../../engine/model/compiled.ts'
import type { RunState } from '../../engine/model/run.ts'
import type { StoredRun } from '../../engine/model/stored-run.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import { type Run as RunRow, RunStep as StepRow } from '../../models/automation.ts'
import { ConflictError, UnprocessableError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import { toRunState } from '../runs/queries.ts'
import type { ReplayRun } from '../runs/schema.ts'
import { loadSimulatedWorkflow } from '../simulations/load-simulated-workflow.ts'
import { assertExternalSteps, assertKnownSteps } from '../simulations/simulate-external-calls.ts'
import { getWorkflow } from '../workflows/queries.ts'
import { buildInitialState } from './build-initial-state.ts'

export type ReplayPlan = {
  workflow: PublishedWorkflow
  /** State of the queued run, with all overrides applied. */
  state: RunState
  /** Number of recorded steps that the replay reuses. */
  reusedCount: number
  records: StepRow[]
}

/** Start of a replay: the number of recorded steps to reuse, and the first step to execute; null for the workflow's first. */
type ReplayPosition = { reusedCount: number; stepId: string | null }

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

/** Builds a replay: a new run for the subject of the original one, started by the current actor. */
export function buildReplay(
  tx: Scope,
  original: RunRow,
  { plan, state, mode }: { plan: ReplayPlan; state: RunState; mode: StoredRun['mode'] },
): StoredRun {
  const { workflow, reusedCount } = plan
  return {
    ...original,
    workflowVersion: workflow.version,
    mode,
    parentRunId: null,
    mailboxRunId: null,
    triggerEventId: state.id,
    replayOf: original.id,
    replayFromStepId: reusedCount > 0 ? plan.state.stepId : null,
    startedBy: { type: tx.actor.type, id: tx.actor.id },
    messagesSent: 0,
    createdAt: tx.now(),
    state,
    wakeAt: null,
  }
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
  throw new ConflictError('workflow_not_published', 'The workflow is not published. Pass a version number instead')
}

/** Returns true if `from` is the ID of a step of the workflow: neither a keyword nor the ID of a run step. */
function isStepId(from: string): boolean {
  return !['auto', 'start', 'failed'].includes(from) && !isUuid(from)
}

function findStart(
  original: RunRow,
  records: StepRow[],
  { from, effects }: Pick<ReplayRun, 'from' | 'effects'>,
): ReplayPosition {
  const start = { reusedCount: 0, stepId: null }
  if (effects === 'rerun' || from === 'start') return start
  const stopIndex = findStop(original, records)
  if (from === 'auto' && stopIndex === undefined) return start
  const reusedCount = from === 'auto' ? stopIndex : findIndex(records, from, stopIndex)
  if (reusedCount === undefined) throw startNotFoundError(from, records)
  return { reusedCount, stepId: records[reusedCount]?.stepId ?? toRunState(original).stepId }
}

function findIndex(records: StepRow[], from: string, stopIndex: number | undefined): number | undefined {
  if (from === 'failed') return stopIndex ?? toOptional(records.findLastIndex(({ status }) => status === 'failed'))
  if (isUuid(from)) return toOptional(records.findIndex(({ id }) => id === from))
  return toOptional(records.findLastIndex(({ stepId }) => stepId === from))
}

function toOptional(index: number): number | undefined {
  return index === -1 ? undefined : index
}

/** Finds the index of the step at which an incomplete run stopped: the last record, or the next step if that one is done. */
function findStop(run: RunRow, records: StepRow[]): number | undefined {
  const last = records.at(-1)
  const { stepId } = toRunState(run)
  if (run.status === 'completed' || !last || stepId === null) return undefined
  const isDone = last.status === 'completed' || last.status === 'skipped'
  return isDone && last.stepId !== stepId ? records.length : records.length - 1
}

function startNotFoundError(from: string, records: StepRow[]): UnprocessableError {
  if (from === 'failed')
    return new UnprocessableError('no_failed_step', 'No step of this run failed. Replay from start instead')
  const nearest = closestMatches(
    from,
    records.map(({ stepId }) => stepId),
  )
  const hint = nearest.length > 0 ? `. Similar steps it did reach: ${nearest.map((id) => `"${id}"`).join(', ')}` : ''
  return new UnprocessableError('step_not_reached', `This run did not reach step "${from}"${hint}`, { nearest })
}
