import { isDeepStrictEqual } from 'node:util'
import { assignVariables } from '../../engine/assign-variables.ts'
import { type CompiledDefinition, findStep } from '../../engine/compiled.ts'
import type { Published } from '../../engine/party.ts'
import { rebuildState } from '../../engine/rebuild-state.ts'
import { type JsonObject, queueResumption, queueRun, type RunState } from '../../engine/run.ts'
import { Run as RunRow } from '../../models/run.ts'
import { RunStep as StepRow } from '../../models/run-step.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { refuseInside, refuseUnknownSteps } from '../simulations/answer-outside.ts'
import { stepTypes } from '../workflows/steps/index.ts'
import { findBeginning } from './find-beginning.ts'
import { loadMessages } from './load-messages.ts'
import { loadReplayed } from './load-replayed.ts'
import { loadVersions } from './published-workflows.ts'
import type { ReplayRun } from './schema.ts'

export type ReplayPlan = {
  subject: Published
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
  const takenOver = findBeginning(old, records, options, subject.compiled)
  refuseUnknownSteps(subject.compiled, Object.keys(stepOutputs))
  const past = new Set(records.slice(0, takenOver).map(({ stepId }) => stepId))
  refuseInside(
    subject.compiled,
    Object.keys(stepOutputs).filter((stepId) => !past.has(stepId)),
  )
  if (subject.version !== old.workflowVersion) await refuseChanges(scope, { old, records, takenOver, subject })
  const begun = await begin(scope, { old, records, takenOver, subject, stepOutputs })
  const state = { ...begun, ...(input === undefined ? {} : { input }) }
  if (assignVariables({ run: state, compiled: subject.compiled }, variables)) {
    throw new UnprocessableError(
      'wrong_type',
      'A variable cannot hold what it is given: see how the workflow declares it',
    )
  }
  return { subject, state, takenOver, records }
}

type Plan = { old: RunRow; records: StepRow[]; takenOver: number; subject: Published }

async function begin(
  scope: Scope,
  { old, records, takenOver, subject, stepOutputs }: Plan & { stepOutputs: JsonObject },
) {
  const { compiled } = subject
  const [now, id] = [scope.now(), newId()]
  // What an earlier replay was told instead of asking does not hold for this one.
  const { answers: _, ...newest } = old.state as RunState
  const beginning = records[takenOver]
  const messages = await loadMessages(scope, messageIdsOf(old, records.slice(0, takenOver)))
  const first = old.trigger.messageId === null ? null : (messages.get(old.trigger.messageId) ?? null)
  if (takenOver === 0) {
    const { trigger, input, depth } = newest
    return queueRun(compiled, { id, trigger, input, message: first, depth }, now)
  }
  const touches = records.slice(0, takenOver).some(({ stepId }) => Object.hasOwn(stepOutputs, stepId))
  // Where the run stopped by itself its newest state is what it knew there.
  if (
    old.status !== 'completed' &&
    takenOver >= records.length - 1 &&
    newest.stepId === (beginning?.stepId ?? newest.stepId) &&
    !touches
  ) {
    return { ...queueResumption(newest, { id, stepsCount: takenOver }, now), parent: null }
  }
  const message = [...messages.values()].at(-1) ?? first
  const rebuilt = rebuildState({
    compiled,
    registry: stepTypes,
    old: newest,
    records,
    at: takenOver,
    id,
    message,
    stepOutputs,
    now,
  })
  if (!('lost' in rebuilt)) return rebuilt
  throw new UnprocessableError(
    'not_recorded',
    `What the run knew there is not kept: step "${rebuilt.lost}" gave more, or more secret things, than is written down. Replay from an earlier step`,
    { stepId: rebuilt.lost },
  )
}

/** The messages that the run had taken by then, in the order in which it took them. */
function messageIdsOf(old: RunRow, records: StepRow[]): string[] {
  const taken = records.flatMap(({ output, messageId }) => {
    const id: unknown = typeof output === 'object' && output !== null ? Reflect.get(output, 'messageId') : undefined
    return typeof id === 'string' && id !== messageId ? [id] : []
  })
  return [...(old.trigger.messageId === null ? [] : [old.trigger.messageId]), ...taken]
}

/** Steps that are taken over must be what they were. */
async function refuseChanges(scope: Scope, { old, records, takenOver, subject }: Plan): Promise<void> {
  const { workflowId, workflowVersion: version } = old
  const before = (await loadVersions(scope, [{ workflowId, version }])).get(`${workflowId}:${version}`)
  const ids = new Set(records.slice(0, takenOver).map(({ stepId }) => stepId))
  const changed = [...ids].find((id) => !isSame(before, subject.compiled, id))
  if (changed === undefined) return
  throw new UnprocessableError(
    'steps_changed',
    `Step "${changed}" comes before the one to begin with, and is not what it was. Replay from it, or from the start`,
    { stepId: changed },
  )
}

/** What comes after a step may differ: it is not gone there again. */
function isSame(before: CompiledDefinition | undefined, now: CompiledDefinition, id: string): boolean {
  const [then, today] = [before && findStep(before, id), findStep(now, id)]
  return (
    then !== undefined &&
    today !== undefined &&
    isDeepStrictEqual({ ...then, next: '', skip: '' }, { ...today, next: '', skip: '' })
  )
}
