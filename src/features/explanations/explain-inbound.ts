import { listStepTypes } from '../../steps/index.ts'
import type { Evaluation, EvaluatedEvent } from '../../engine/model/evaluation.ts'
import { RunStep as StepRow } from '../../models/automation.ts'
import { ConsentEntry as ConsentEntryRow, Contact as ContactRow } from '../../models/contacts.ts'
import type { Message as MessageRow } from '../../models/messaging.ts'
import { addMs } from '../../platform/time.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { readItems } from '../paging/read-items.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import { listDeadLettersOfMessage } from '../dead-letters/queries.ts'
import type { DeadLetter } from '../dead-letters/schema.ts'
import { RUN_SOURCE, type RunDetails, toRunState } from '../runs/queries.ts'
import { describeOutcome } from './describe-outcome.ts'
import { deadLetterLink, messageLink, runLink, stepLink, triggerLink } from './links.ts'
import { EVALUATION_RETENTION_MS } from './list-trigger-evaluations.ts'
import type { Link, Explanation } from './schema.ts'

/** Limit of the runs that are examined; the oldest come first. */
const RUNS_MAX = 100

/** Explains which runs an inbound message started, which run consumed it as a reply, or why it did neither. */
export async function explainInbound(scope: Scope, message: MessageRow): Promise<Omit<Explanation, 'messageId'>> {
  const runs = await findRuns(scope, message)
  const started = runs.filter(({ trigger, replayOf }) => trigger.messageId === message.id && replayOf === null)
  const steps = await findReplySteps(scope, message, runs)
  const evaluations = await evaluationLinks(scope, message)
  const keyword = await findConsentKeyword(scope, message, evaluations)
  const debouncing = keyword === undefined ? await findDebouncing(scope, message, runs) : []
  const consumers = runs
    .filter((run) => !debouncing.includes(run) && !isInherited(run, message, { runs, steps }))
    .filter((run) => isConsumedBy(run, message) || steps.some(({ runId }) => runId === run.id))
  const deadLetters = await listDeadLettersOfMessage(scope, message)
  const links: Link[] = [{ type: 'sender', sender: message.sender }, messageLink(message)]
  for (const run of started) links.push(await triggerLink(scope, run, message), runLink(run, 'started'))
  links.push(...debouncing.map((run) => runLink(run, 'debounced')))
  for (const run of consumers) {
    const runSteps = steps.filter(({ runId }) => runId === run.id)
    links.push(runLink(run, 'reply_consumed'), ...runSteps.map((step) => stepLink(step, undefined)))
  }
  return {
    summary: await summarize(scope, { message, started, debouncing, consumers, deadLetters, evaluations, keyword }),
    links: [...links, ...deadLetters.map(deadLetterLink), ...evaluations],
  }
}

/** Finds the runs of the conversation that may have received the message: those that it started, then the oldest. */
function findRuns(scope: Scope, { id, conversationId, createdAt }: MessageRow): Promise<RunDetails[]> {
  const isPossible = sqlFragment`runs.conversation_id = ${conversationId}
    and (runs.finished_at is null or runs.finished_at >= ${createdAt})
    order by runs.trigger ->> 'messageId' is not distinct from ${id} desc, runs.id limit ${RUNS_MAX}`
  return readItems<RunDetails>(scope, 'findRunsOfMessage', RUN_SOURCE, isPossible)
}

/** Returns true for a child run or replay that only copied the message from another run's state. */
function isInherited(run: RunDetails, message: MessageRow, { runs, steps }: { runs: RunDetails[]; steps: StepRow[] }) {
  if (run.replayOf !== null) return run.createdAt > message.createdAt || run.id > message.id
  const hasStep = ({ id }: RunDetails) => steps.some(({ runId }) => runId === id)
  const parent = runs.find(({ id }) => id === run.parentRunId)
  if (!parent || hasStep(run)) return false
  return parent.trigger.messageId === message.id || isConsumedBy(parent, message) || hasStep(parent)
}

/** Returns true if the message is the last reply of the run, accepted by a step or not. */
function isConsumedBy(run: RunDetails, { id }: MessageRow): boolean {
  return toRunState(run).message?.id === id && run.trigger.messageId !== id
}

/** Finds the runs that were debouncing messages when this one arrived. */
async function findDebouncing(scope: Scope, message: MessageRow, runs: RunDetails[]): Promise<RunDetails[]> {
  const candidates = runs.filter(({ trigger, createdAt, startedAt }) => {
    if (trigger.type !== 'message_received' || trigger.messageId === message.id) return false
    return createdAt <= message.createdAt && (startedAt === null || startedAt > message.createdAt)
  })
  const keys = candidates.map(({ workflowId, workflowVersion: version }) => ({ workflowId, version }))
  const versions = await loadVersions(scope, keys)
  return candidates.filter(({ workflowId, workflowVersion }) => {
    return (versions.get(`${workflowId}:${workflowVersion}`)?.settings.debounceMs ?? 0) > 0
  })
}

const REPLY_STEPS = listStepTypes('reply')

async function findReplySteps(scope: Scope, message: MessageRow, runs: RunDetails[]): Promise<StepRow[]> {
  if (runs.length === 0) return []
  return scope
    .query(StepRow)
    .whereIn(
      'runId',
      runs.map(({ id }) => id),
    )
    .whereIn('type', REPLY_STEPS)
    .whereNull('reusedFromId')
    .whereRaw("output ->> 'messageId' = ?", [message.id])
    .orderBy(['runId', 'index'])
}

type EvaluationRow = {
  at: Date
  event: EvaluatedEvent['event']
  evaluation: Evaluation
  workflowName: string | null
}

async function evaluationLinks(scope: Scope, message: MessageRow): Promise<Link[]> {
  const rows = await scope.sql<EvaluationRow>('evaluationLinks')`
    select e.created_at as at, e.event, x.value as evaluation, w.name as workflow_name
     from trigger_evaluations e
     cross join lateral jsonb_array_elements(e.evaluations) x
     left join workflows w on w.tenant_id = ${scope.tenantId} and w.id = (x.value ->> 'workflowId')::uuid
     where e.tenant_id = ${scope.tenantId} and e.contact_id = ${message.contactId} and e.created_at >= ${message.createdAt} and e.event ->> 'messageId' = ${message.id}
     order by e.id, w.created_at`
  const versions = await loadVersions(
    scope,
    rows.map(({ evaluation: { workflowId, version } }) => ({ workflowId, version })),
  )
  return rows.map(({ at, event, evaluation, workflowName }) => {
    const { workflowId, version, outcome } = evaluation
    const context = { event, message, compiled: versions.get(`${workflowId}:${version}`) }
    const sentence = describeOutcome(evaluation, context)
    return { type: 'evaluation', at, workflowId, workflowName, version, outcome, message: sentence }
  })
}

type InboundEffects = {
  message: MessageRow
  started: RunDetails[]
  debouncing: RunDetails[]
  consumers: RunDetails[]
  deadLetters: DeadLetter[]
  evaluations: Link[]
  keyword: 'changed' | 'unchanged' | undefined
}

/** Finds out if the message was a consent keyword, and if it changed the consent. */
async function findConsentKeyword(
  scope: Scope,
  { id, contactId }: MessageRow,
  evaluations: Link[],
): Promise<InboundEffects['keyword']> {
  const entry = await scope.query(ConsentEntryRow).findOne({ contactId, messageId: id, source: 'keyword' })
  if (entry) return 'changed'
  const isKeyword = evaluations.some((link) => link.type === 'evaluation' && link.outcome === 'consent_keyword')
  return isKeyword ? 'unchanged' : undefined
}

const KEYWORD_SUMMARIES = {
  changed: 'Changed the marketing consent of the contact by a keyword, which starts no workflow',
  unchanged: 'Started nothing: the message is a consent keyword, and the contact had this consent already',
}

async function summarize(scope: Scope, effects: InboundEffects): Promise<string> {
  const { message, started, debouncing, consumers, deadLetters, evaluations, keyword } = effects
  const names = (runs: RunDetails[]) => runs.map(({ workflowName }) => `"${workflowName}"`).join(', ')
  if (keyword) return KEYWORD_SUMMARIES[keyword]
  if (started.length > 0) return `Started ${names(started)}`
  if (debouncing.length > 0) return `Was combined with earlier messages by ${names(debouncing)}`
  if (consumers.length > 0) return `Was consumed as a reply by ${names(consumers)}`
  const [deadLetter] = deadLetters.filter(({ type }) => type === 'message')
  if (deadLetter) return describeDeadLetter(deadLetter)
  if (await isPending(scope, message)) return 'Is queued and has not been processed yet'
  const { blocked } = await scope.get(ContactRow, message.contactId)
  const wasBlocked = evaluations.some((link) => link.type === 'evaluation' && link.outcome === 'contact_blocked')
  if (wasBlocked || (blocked && evaluations.length === 0)) return 'Started nothing: the contact is blocked'
  if (evaluations.length > 0) return 'Started nothing: each evaluated workflow has a reason not to start'
  const isOld = message.createdAt < addMs(scope.now(), -EVALUATION_RETENTION_MS)
  return isOld
    ? 'Started nothing; the reasons are deleted after 7 days'
    : 'Started nothing: no workflow with a trigger for messages was published at that time'
}

function describeDeadLetter({ id, attempts, error }: DeadLetter): string {
  return `Was not processed: all ${attempts} attempts failed. ${error.message}. Retry or discard the dead letter ${id}`
}

async function isPending(scope: Scope, { id, conversationId }: MessageRow): Promise<boolean> {
  const rows = await scope.sql<object>('isPending')`
    select 1 from mailbox_items
     where tenant_id = ${scope.tenantId} and mailbox_id = ${conversationId} and kind = 'message' and payload ->> 'messageId' = ${id} limit 1`
  return rows.length > 0
}
