import { toMailbox } from '../../engine/model/mailbox-key.ts'
import { type StepRecord, isFinished } from '../../engine/model/run.ts'
import type { Subject } from '../../engine/model/subject.ts'
import { copySteps, saveRuns, saveSteps } from '../automation/store/run-store.ts'
import type { DialogueEntry, SimulatedRun } from '../../engine/simulate/simulate.ts'
import { Run as RunRow } from '../../models/automation.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadKeywordSettings } from '../consent/keyword-settings.ts'
import { windowExpiryFrom } from '../conversations/service-window.ts'
import { loadSubjects } from '../execution/load-subjects.ts'
import type { ReplayRun } from '../runs/schema.ts'
import { loadRunRecording, type RunRecording } from '../simulations/load-recording.ts'
import { loadOtherWorkflows } from '../simulations/load-simulated-workflow.ts'
import { describeReason } from '../simulations/to-simulation-result.ts'
import { UNPUBLISHED } from '../simulations/run-simulation.ts'
import { simulateQueuedTask, SIMULATION_MS_MAX } from '../simulations/simulation-tasks.ts'
import { buildReplay, type ReplayPlan } from './plan-replay.ts'

type DryRun = { original: RunRow; plan: ReplayPlan; options: ReplayRun }

/**
 * Simulates the replay with the recorded replies, results and times. It sends, calls and stores nothing and never waits:
 * if a reply is missing, the run is canceled with an error that says so.
 */
export async function simulateReplay(
  scope: Scope,
  { original, plan, options }: DryRun,
): Promise<SimulatedRun | undefined> {
  const { workflow, reusedCount, records, state } = plan
  const recording = await loadRunRecording(scope, original)
  const now = records[reusedCount]?.startedAt ?? recording.startedAt
  const subject = await loadSubject(scope, original)
  const trace = await scope.compute(simulateQueuedTask, {
    workflow,
    others: await loadOtherWorkflows(scope, workflow),
    subject: withWindowAt(subject, recording, now),
    now,
    queued: { workflow, state: { ...state, queuedAt: now.toISOString() } },
    dialogue: dialogueAfter(now, recording),
    stepOutputs: options.stepOutputs ?? {},
    keywords: await loadKeywordSettings(scope),
    recorded: options.effects === 'rerun' ? [] : [recording],
    threadMsMax: SIMULATION_MS_MAX,
  })
  const run = trace.runs.find(({ id }) => id === state.id)
  return run && closeWaitingRun(run, describeReason(trace.reason), new Date(trace.finishedAt))
}

/** Loads the subject of the run with its current facts. */
async function loadSubject(scope: Scope, original: RunRow): Promise<Subject> {
  const [subject] = await loadSubjects(scope, [toMailbox(original)])
  if (!subject) throw new NotFoundError('Run')
  return { ...subject, isPaused: false, isBlocked: false }
}

export async function saveDryRun(
  tx: Scope,
  { original, plan }: Omit<DryRun, 'options'>,
  { state, steps }: SimulatedRun,
): Promise<void> {
  const { workflow, reusedCount } = plan
  const replay = buildReplay(tx, original, { plan, state, mode: 'dry_run' })
  if (workflow.version === UNPUBLISHED) replay.workflowVersion = original.workflowVersion
  await saveRuns(tx, [replay])
  const simulated = steps.map((step) => ({ runId: state.id, step: withoutMessage(step) }))
  await saveSteps(tx, simulated)
  if (workflow.version === UNPUBLISHED) await tx.query(RunRow).findOne('id', state.id).patch({ isDraft: true })
  await tx.sql('markSimulated')`
    update run_steps set simulated = true where tenant_id = ${tx.tenantId} and run_id = ${state.id}`
  await copySteps(tx, { from: original.id, to: state.id, count: reusedCount })
}

/** The message of a simulated step was never sent, so there is no row to refer to. */
function withoutMessage(step: StepRecord): StepRecord {
  return { ...step, messageId: null }
}

/** Sets the service window as it was at `now`, from the customer's last message before. */
function withWindowAt(subject: Subject, { first, messages }: RunRecording, now: Date): Subject {
  const last = [...(first ? [first] : []), ...messages].findLast(({ createdAt }) => createdAt <= now)
  if (!last || !subject.conversation) return subject
  const windowExpiresAt = windowExpiryFrom(last.createdAt).toISOString()
  return { ...subject, conversation: { ...subject.conversation, windowExpiresAt } }
}

/** Recorded entries from `now` on, with the delay of the first one counted from `now`. */
function dialogueAfter(now: Date, { startedAt, later }: RunRecording): DialogueEntry[] {
  let at = startedAt
  let previous = now
  return later.flatMap((entry) => {
    at = addMs(at, entry.afterMs)
    if (at < now || (at.getTime() === now.getTime() && entry.type === 'advance')) return []
    const afterMs = at.getTime() - previous.getTime()
    previous = at
    return [{ ...entry, afterMs }]
  })
}

/** Cancels a simulated run that still waits before it is stored, because nothing will ever continue it. */
function closeWaitingRun(run: SimulatedRun, reason: string | null, now: Date): SimulatedRun {
  const { state, steps } = run
  if (isFinished(state)) return run
  const finishedAt = now.toISOString()
  const message = reason ?? 'The run waited for input that was not recorded'
  return {
    ...run,
    state: {
      ...state,
      status: 'canceled',
      waiting: null,
      open: null,
      debouncing: null,
      error: { code: 'input_not_recorded', message, stepId: state.stepId },
      finishedAt,
    },
    steps: steps.map((step) =>
      step.status === 'waiting' ? { ...step, status: 'canceled', waitingUntil: null, finishedAt } : step,
    ),
  }
}
