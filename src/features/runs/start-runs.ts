import { setImmediate } from 'node:timers/promises'
import { assignVariables } from '../../engine/decide/assign-variables.ts'
import { lockMailboxes, MAILBOX_ID_SQL, putItems } from '../automation/store/mailbox-store.ts'
import { matchTrigger } from '../../engine/mailbox/match-trigger.ts'
import { saveRuns } from '../automation/store/run-store.ts'
import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import { newRun } from '../../engine/model/new-run.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import { type StoredRun, runMailbox } from '../../engine/model/stored-run.ts'
import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import { LostParentError } from '../../platform/database/database.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { ITEM_WORK_MAX, withWorkBudget } from '../../engine/language/work-budget.ts'
import type { ScheduleStart } from '../../triggers/schedule.ts'
import type { WebhookStart } from '../../triggers/webhook.ts'
import { workflowLanguage } from '../../workflow-language.ts'
import { findMailboxes } from '../automation/emit-events.ts'
import { advanceJob } from '../automation/jobs.ts'
import { listPublished } from '../automation/published-workflows.ts'
import { loadSubjects } from '../execution/load-subjects.ts'

/** A run that is started by request. Without a contact it has a mailbox of its own. */
export type NewStart = {
  workflowId: string
  trigger: { type: 'api' | 'manual' } | WebhookStart | ScheduleStart
  input?: unknown
  /** Override the defaults of the definition. */
  variables?: JsonObject
  contactId?: string | null
  /** A conversation of that contact; by default the most recent one. */
  conversationId?: string | null
  startedBy: { type: string; id: string | null }
  /** Starts with the same ID start one run of a workflow. */
  eventId?: string
}

export type StartRejection =
  | 'not_published'
  | 'trigger_not_found'
  | 'invalid_variables'
  | 'contact_blocked'
  | 'condition_not_met'
  | 'budget_exceeded'
  | 'already_running'
  | 'duplicate'
export type StartResult = { runId: string } | { rejection: StartRejection }

/**
 * Queues runs, as the re-entry policies of their workflows allow, each behind the pending items of its mailbox. Returns
 * one result per start, in order.
 */
export async function startRuns(tx: Scope, starts: NewStart[]): Promise<StartResult[]> {
  const published = new Map((await listPublished(tx)).map((workflow) => [workflow.workflowId, workflow]))
  const contactMailboxes = await findMailboxes(
    tx,
    starts.flatMap(({ contactId }) => contactId ?? []),
  )
  const plans = starts.map((start) => planStart(start, published.get(start.workflowId), tx.now(), contactMailboxes))
  const plannedRuns = plans.flatMap((plan) => ('run' in plan ? [plan] : []))
  const mailboxes = new Map(plannedRuns.map(({ mailbox }) => [mailbox.id, mailbox]))
  const shared = [...mailboxes.values()].filter(({ kind }) => kind !== 'run')
  await lockMailboxes(tx, shared)
  const subjects = new Map((await loadSubjects(tx, shared)).map((subject) => [subject.mailbox.id, subject]))
  if (shared.some(({ id }) => !subjects.has(id))) throw new LostParentError('The contact of a new run was deleted')
  const context: StartContext = {
    subjects,
    activeIds: await findActiveIds(tx, plannedRuns),
    startedKeys: await findStartedKeys(tx, plannedRuns),
  }
  const results = await admitRuns(plans, context, tx.now())
  await queueRuns(
    tx,
    results.flatMap((result) => ('run' in result ? [result] : [])),
  )
  return results.map((result) => ('run' in result ? { runId: result.run.state.id } : result))
}

type PlannedRun = { run: StoredRun; mailbox: Mailbox; workflow: PublishedWorkflow }
type AdmittedRun = PlannedRun & { replaces: readonly string[] }
type RejectedRun = { rejection: StartRejection }
type Plan = PlannedRun | RejectedRun
type StartContext = {
  subjects: Map<string, Subject>
  /** IDs of the active runs of a workflow in a mailbox, the newest first, by `activeKey`. */
  activeIds: Map<string, string[]>
  startedKeys: Set<string>
}

function planStart(
  start: NewStart,
  workflow: PublishedWorkflow | undefined,
  now: Date,
  contactMailboxes: Awaited<ReturnType<typeof findMailboxes>>,
): Plan {
  if (!workflow) return { rejection: 'not_published' }
  const { trigger: source, input = null, contactId = null, variables = {}, startedBy } = start
  if (!workflow.compiled.triggers.some(({ type }) => type === source.type)) return { rejection: 'trigger_not_found' }
  const id = newId()
  const conversationId = start.conversationId ?? (contactId && contactMailboxes.get(contactId)?.conversationId) ?? null
  const trigger = { messageId: null, ...source }
  const eventId = start.eventId ?? id
  const run = newRun(workflow, { id, trigger, eventId, contactId, conversationId, startedBy, input }, now)
  const assigned = assignVariables(run.state, workflow.compiled, variables)
  if (assigned.failure) return { rejection: 'invalid_variables' }
  run.state.variables = assigned.variables
  return { run, mailbox: runMailbox(run), workflow }
}

/** Work of the conditions of all starts together: half a second, during which conversations are locked. */
const CONDITIONS_WORK_MAX = ITEM_WORK_MAX
/** Work after which other tasks of the process are let in. */
const YIELD_WORK = 10_000
/** Work of a start besides its condition. */
const START_WORK = 500

/** Requires the locks of the mailboxes. Lets other tasks of the process run between the starts. */
async function admitRuns(plans: Plan[], context: StartContext, now: Date): Promise<(AdmittedRun | RejectedRun)[]> {
  const results: (AdmittedRun | RejectedRun)[] = []
  let work = 0
  let unyielded = 0
  for (const plan of plans) {
    const admit = () => ('run' in plan ? admitRun(plan, context, now) : plan)
    const { result, spent } = withWorkBudget(ITEM_WORK_MAX, work > CONDITIONS_WORK_MAX ? rejectForWork : admit)
    results.push(result)
    work += spent
    unyielded += START_WORK + spent
    if (unyielded < YIELD_WORK) continue
    await setImmediate()
    unyielded = 0
  }
  return results
}

function rejectForWork(): RejectedRun {
  return { rejection: 'budget_exceeded' }
}

/** Runs that were admitted before count as active. */
function admitRun(plan: PlannedRun, context: StartContext, now: Date): AdmittedRun | RejectedRun {
  const { run, mailbox, workflow } = plan
  const { reentry } = workflow.compiled.settings
  const key = startKey(run)
  if (context.startedKeys.has(key)) return { rejection: 'duplicate' }
  const subject = context.subjects.get(mailbox.id)
  if (subject?.isBlocked) return { rejection: 'contact_blocked' }
  if (!isConditionMet(plan, subject, now)) return { rejection: 'condition_not_met' }
  const others = context.activeIds.get(activeKey(run.workflowId, mailbox.id)) ?? []
  if (others.length > 0 && reentry === 'ignore') return { rejection: 'already_running' }
  context.startedKeys.add(key)
  context.activeIds.set(activeKey(run.workflowId, mailbox.id), [...others, run.state.id])
  return { ...plan, replaces: reentry === 'restart' ? others : [] }
}

function activeKey(workflowId: string, mailboxId: string): string {
  return `${workflowId} ${mailboxId}`
}

/** Finds the active runs that the starts may replace, or that keep them from starting. */
async function findActiveIds(tx: Scope, plans: PlannedRun[]): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>()
  if (plans.length === 0) return found
  const rows = await tx.sql<{ id: string; workflowId: string; mailboxId: string }>('findActiveIds')`
    select id, workflow_id, ${MAILBOX_ID_SQL} as mailbox_id from runs
    where tenant_id = ${tx.tenantId} and ${MAILBOX_ID_SQL} = any(${plans.map(({ mailbox }) => mailbox.id)})
      and status in ('queued', 'running', 'waiting') and workflow_id = any(${plans.map(({ run }) => run.workflowId)})
    order by id desc`
  for (const { id, workflowId, mailboxId } of rows) {
    const key = activeKey(workflowId, mailboxId)
    const ids = found.get(key)
    if (ids) ids.push(id)
    else found.set(key, [id])
  }
  return found
}

function isConditionMet(
  { run: { trigger, state }, workflow }: PlannedRun,
  subject: Subject | undefined,
  now: Date,
): boolean {
  if (trigger.type !== 'api' && trigger.type !== 'manual') return true
  const { contact = null, conversation = null, workspace = {} } = subject ?? {}
  const { workflowId: id, name, version, compiled } = workflow
  const facts = { contact, conversation, workspace, workflow: { id, name, version } }
  const event = { type: trigger.type, input: state.input }
  const input = { compiled, event, facts, now, registry: workflowLanguage }
  const match = matchTrigger(input)
  return match !== undefined && 'trigger' in match
}

function startKey({ workflowId, triggerEventId }: StoredRun): string {
  return `${workflowId}:${triggerEventId}`
}

async function findStartedKeys(tx: Scope, plans: PlannedRun[]): Promise<Set<string>> {
  const deduplicated = plans.filter(({ run }) => run.triggerEventId !== run.state.id)
  if (deduplicated.length === 0) return new Set()
  const ids = [...new Set(deduplicated.map(({ run }) => run.triggerEventId))].sort()
  // Of two concurrent calls with one event ID, the second waits here and then finds the first one's run.
  await tx.sql('findStartedKeys')`
    select pg_advisory_xact_lock(hashtextextended(id, 2)) from unnest(${ids}::text[]) with ordinality as x (id, n) order by n`
  const rows = await tx.sql<{ key: string }>('findStartedKeys')`
    select workflow_id || ':' || trigger_event_id as key from runs where tenant_id = ${tx.tenantId} and trigger_event_id = any(${ids})`
  return new Set(rows.map(({ key }) => key))
}

async function queueRuns(tx: Scope, admitted: AdmittedRun[]): Promise<void> {
  if (admitted.length === 0) return
  await saveRuns(
    tx,
    admitted.map(({ run }) => run),
  )
  const items = admitted.flatMap(({ run, mailbox, replaces }) => [
    ...replaces.map((runId) => ({ id: newId(), mailbox, kind: 'cancel' as const, payload: { runId } })),
    { id: newId(), mailbox, kind: 'start' as const, payload: { runId: run.state.id } },
  ])
  await putItems(tx, items)
  await tx.record(
    ...admitted.map(({ run: { state, workflowId, conversationId } }) => ({
      type: 'run.queued' as const,
      data: { runId: state.id, workflowId, conversationId },
    })),
  )
  tx.enqueue(advanceJob(tx.tenantId))
}

export function alreadyRunningError(): ConflictError {
  return new ConflictError(
    'already_running',
    'The workflow is already running for this contact or conversation. Cancel that run, or set settings.reentry to queue, restart or parallel',
  )
}
