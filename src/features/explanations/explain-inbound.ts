import type { Message as MessageRow } from '../../models/messaging/message.ts'
import { RunStep as StepRow } from '../../models/automation/run-step.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import { runQuery } from '../runs/queries.ts'
import { describeOutcome } from './describe-outcome.ts'
import { messageLink, type NamedRun, runLink, stepLink, triggerLink } from './links.ts'
import { EVALUATION_RETENTION_MS } from './purge-evaluations.ts'
import type { Evaluation, EvaluatedEvent } from '../../engine/model/evaluation.ts'
import type { Link, Explanation } from './schema.ts'

/** Of more runs that were not over when it came, the oldest are looked at. */
const RUNS_MAX = 100

/** What a customer's message started, which run took it as a reply, or why nothing did. */
export async function explainInbound(scope: Scope, message: MessageRow): Promise<Omit<Explanation, 'messageId'>> {
  const runs = await findRuns(scope, message)
  const started = runs.filter(({ trigger, replayOf }) => trigger.messageId === message.id && replayOf === null)
  const steps = await findSteps(scope, message, runs)
  const debouncing = await findCollecting(scope, message, runs)
  const taking = runs
    .filter((run) => !debouncing.includes(run) && !isInherited(run, message, { runs, steps }))
    .filter((run) => isTakenBy(run, message) || steps.some(({ runId }) => runId === run.id))
  const evaluations = await evaluationLinks(scope, message)
  const links: Link[] = [{ kind: 'sender', ...message.sender }, messageLink(message)]
  for (const run of started) links.push(await triggerLink(scope, run, message), runLink(run, 'started'))
  links.push(...debouncing.map((run) => runLink(run, 'debounced')))
  for (const run of taking) {
    const own = steps.filter(({ runId }) => runId === run.id)
    links.push(runLink(run, 'reply_consumed'), ...own.map((step) => stepLink(step, undefined)))
  }
  return {
    summary: await summarize(scope, { message, started, debouncing, taking, evaluations }),
    links: [...links, ...evaluations],
  }
}

/** The runs of the conversation that the message could have met: those that it started, then the oldest. */
async function findRuns(scope: Scope, { id, conversationId, createdAt }: MessageRow): Promise<NamedRun[]> {
  return (await runQuery(scope)
    .where({ conversationId })
    .where((open) => open.whereNull('finishedAt').orWhere('finishedAt', '>=', createdAt))
    .orderByRaw(`trigger ->> 'messageId' is not distinct from ? desc, id`, [id])
    .limit(RUNS_MAX)) as NamedRun[]
}

/** A child and a replay know the message from the run before them: they did not take it. */
function isInherited(run: NamedRun, message: MessageRow, { runs, steps }: { runs: NamedRun[]; steps: StepRow[] }) {
  if (run.replayOf !== null) return run.createdAt > message.createdAt || run.id > message.id
  const hasStep = ({ id }: NamedRun) => steps.some(({ runId }) => runId === id)
  const parent = runs.find(({ id }) => id === run.parentRunId)
  if (!parent || hasStep(run)) return false
  return parent.trigger.messageId === message.id || isTakenBy(parent, message) || hasStep(parent)
}

/** The run has it as its newest reply, whether or not a step was content with it. */
function isTakenBy({ state, trigger }: NamedRun, { id }: MessageRow): boolean {
  const newest = state['message'] as { id?: string } | null | undefined
  return newest?.id === id && trigger.messageId !== id
}

/** Runs that waited for the customer to finish writing when the message came. */
async function findCollecting(scope: Scope, message: MessageRow, runs: NamedRun[]): Promise<NamedRun[]> {
  const waiting = runs.filter(({ trigger, createdAt, startedAt }) => {
    if (trigger.type !== 'message_received' || trigger.messageId === message.id) return false
    return createdAt <= message.createdAt && (startedAt === null || startedAt > message.createdAt)
  })
  const keys = waiting.map(({ workflowId, workflowVersion: version }) => ({ workflowId, version }))
  const versions = await loadVersions(scope, keys)
  return waiting.filter(({ workflowId, workflowVersion }) => {
    return (versions.get(`${workflowId}:${workflowVersion}`)?.settings.debounceMs ?? 0) > 0
  })
}

async function findSteps(scope: Scope, message: MessageRow, runs: NamedRun[]): Promise<StepRow[]> {
  if (runs.length === 0) return []
  return scope
    .query(StepRow)
    .whereIn(
      'runId',
      runs.map(({ id }) => id),
    )
    .whereIn('type', ['ask', 'wait_for_reply'])
    .whereNull('reusedFromId')
    .whereRaw("output ->> 'messageId' = ?", [message.id])
    .orderBy(['runId', 'index'])
}

type Row = { at: Date; event: EvaluatedEvent['event']; evaluation: Evaluation; workflowName: string | null }

async function evaluationLinks(scope: Scope, message: MessageRow): Promise<Link[]> {
  const { rows } = await scope.db.raw<{ rows: Row[] }>(
    `select e.created_at as at, e.event, x.value as evaluation, w.name as "workflowName"
     from trigger_evaluations e
     cross join lateral jsonb_array_elements(e.evaluations) x
     left join workflows w on w.tenant_id = e.tenant_id and w.id = (x.value ->> 'workflowId')::uuid
     where e.tenant_id = ? and e.contact_id = ? and e.created_at >= ? and e.event ->> 'messageId' = ?
     order by e.id, w.created_at`,
    [scope.tenantId, message.contactId, message.createdAt, message.id],
  )
  const versions = await loadVersions(
    scope,
    rows.map(({ evaluation: { workflowId, version } }) => ({ workflowId, version })),
  )
  return rows.map(({ at, event, evaluation, workflowName }) => {
    const { workflowId, version, outcome } = evaluation
    const explained = { event, message, compiled: versions.get(`${workflowId}:${version}`) }
    const sentence = describeOutcome(evaluation, explained)
    return { kind: 'evaluation', at, workflowId, workflowName, version, outcome, message: sentence }
  })
}

type Found = {
  message: MessageRow
  started: NamedRun[]
  debouncing: NamedRun[]
  taking: NamedRun[]
  evaluations: Link[]
}

async function summarize(scope: Scope, found: Found): Promise<string> {
  const { message, started, debouncing, taking, evaluations } = found
  const names = (runs: NamedRun[]) => runs.map(({ workflowName }) => `"${workflowName}"`).join(', ')
  if (started.length > 0) return `Started ${names(started)}`
  if (debouncing.length > 0) return `Was read together with the messages before it by ${names(debouncing)}`
  if (taking.length > 0) return `Was taken as a reply by ${names(taking)}`
  if (await isWaiting(scope, message)) return 'Waits in the mailbox and has not been looked at yet'
  if (evaluations.length > 0) return 'Started nothing: no workflow was ready for it'
  const isOld = message.createdAt < addMs(scope.now(), -EVALUATION_RETENTION_MS)
  return isOld
    ? 'Started nothing; why is kept for 7 days only'
    : 'Started nothing: no published workflow waited for messages then'
}

async function isWaiting(scope: Scope, { id }: MessageRow): Promise<boolean> {
  const { rows } = await scope.db.raw<{ rows: object[] }>(
    `select 1 from mailbox_items where tenant_id = ? and kind = 'message' and payload ->> 'messageId' = ? limit 1`,
    [scope.tenantId, id],
  )
  return rows.length > 0
}
