import { toMailbox } from '../../engine/model/mailbox-key.ts'
import type { Subject } from '../../engine/model/subject.ts'
import { closeWaitingRun } from './close-waiting-run.ts'
import type { StepRecord } from '../../engine/model/run.ts'
import { copySteps, saveRuns, saveSteps } from '../automation/store/run-store.ts'
import type { DialogueEntry, SimulatedRun } from '../../engine/simulate/simulate.ts'
import { Run as RunRow } from '../../models/automation/run.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { WINDOW_MS } from '../conversations/service-window.ts'
import { loadOtherWorkflows } from '../simulations/load-other-workflows.ts'
import { loadRunRecording, type RunRecording } from '../simulations/load-run-recording.ts'
import { UNPUBLISHED } from '../simulations/load-simulated-workflow.ts'
import { describeReason } from '../simulations/to-simulation-result.ts'
import { runQueuedSimulation } from '../simulations/run-simulation.ts'
import { loadSubjects } from '../execution/load-subjects.ts'
import type { ReplayPlan } from './plan-replay.ts'
import { buildReplay } from './build-replay.ts'
import type { ReplayRun } from '../runs/schema.ts'

const REAL_MS_MAX = 1000

type DryRun = { old: RunRow; plan: ReplayPlan; options: ReplayRun }

/**
 * Plays the run again, at the times and with the replies and the outside answers that were recorded, and keeps what came
 * of it. Nothing goes out, and nothing waits: where a reply is missing the run is canceled, and says so.
 */
export async function dryRun(tx: Scope, { old, plan, options }: DryRun): Promise<void> {
  const { subject, takenOver, records, state } = plan
  const recording = await loadRunRecording(tx, old)
  const now = records[takenOver]?.startedAt ?? recording.startedAt
  const person = await loadOldSubject(tx, old)
  const played = runQueuedSimulation({
    subject,
    others: await loadOtherWorkflows(tx, subject),
    party: asThen(person, recording, now),
    now,
    queued: { workflow: subject, state: { ...state, queuedAt: now.toISOString() } },
    dialogue: laterThan(now, recording),
    stepOutputs: options.stepOutputs ?? {},
    recorded: options.effects === 'rerun' ? [] : [recording],
    realMsMax: REAL_MS_MAX,
  })
  const run = played.runs.find(({ id }) => id === state.id)
  if (run) await keep(tx, { old, plan }, closeWaitingRun(run, describeReason(played.reason), new Date(played.endedAt)))
}

/** Whom the run was about, as they are now; if they are gone, nobody. */
async function loadOldSubject(tx: Scope, old: RunRow): Promise<Subject> {
  const [person] = await loadSubjects(tx, [toMailbox(old)])
  if (!person) throw new NotFoundError('Run')
  return { ...person, isPaused: false }
}

async function keep(tx: Scope, { old, plan }: Omit<DryRun, 'options'>, { state, steps }: SimulatedRun): Promise<void> {
  const { subject, takenOver } = plan
  const replay = buildReplay(tx, old, { plan, state, mode: 'dry_run' })
  if (subject.version === UNPUBLISHED) replay.workflowVersion = old.workflowVersion
  await saveRuns(tx, [replay])
  const simulated = steps.map((step) => ({ runId: state.id, step: withoutMessage(step) }))
  await saveSteps(tx, simulated)
  if (subject.version === UNPUBLISHED) await tx.query(RunRow).findOne('id', state.id).patch({ isDraft: true })
  await tx.db('run_steps').where({ tenant_id: tx.tenantId, run_id: state.id }).update({ simulated: true })
  await copySteps(tx, { from: old.id, to: state.id, count: takenOver })
}

/** The message was never sent: there is none to refer to. */
function withoutMessage(step: StepRecord): StepRecord {
  return { ...step, messageId: null }
}

/** The window as it was: it closed a day after what the customer had said last. */
function asThen(person: Subject, { first, messages }: RunRecording, now: Date): Subject {
  const said = [...(first ? [first] : []), ...messages].findLast(({ createdAt }) => createdAt <= now)
  if (!said || !person.conversation) return person
  const windowExpiresAt = addMs(said.createdAt, WINDOW_MS).toISOString()
  return { ...person, conversation: { ...person.conversation, windowExpiresAt } }
}

/** What was said and happened after that, the first of it after as long as it took then. */
function laterThan(now: Date, { startedAt, later }: RunRecording): DialogueEntry[] {
  let at = startedAt
  let last = now
  return later.flatMap((entry) => {
    at = addMs(at, entry.afterMs)
    if (at < now || (at.getTime() === now.getTime() && entry.type === 'advance')) return []
    const afterMs = at.getTime() - last.getTime()
    last = at
    return [{ ...entry, afterMs }]
  })
}
