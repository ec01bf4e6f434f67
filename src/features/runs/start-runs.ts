import { assignVariables } from '../../engine/decide/assign-variables.ts'
import { lockMailboxes, putItems } from '../automation/store/mailbox-store.ts'
import { matchTrigger } from '../../engine/mailbox/match-trigger.ts'
import { loadActiveRuns, saveRuns } from '../automation/store/run-store.ts'
import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import { newRun } from '../../engine/model/new-run.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import { type StoredRun, runMailbox } from '../../engine/model/stored-run.ts'
import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { ITEM_WORK_MAX, withWorkBudget } from '../../engine/language/work-budget.ts'
import { workflowLanguage } from '../../workflow-language.ts'
import { findMailboxes } from '../automation/raise-events.ts'
import { advanceJob } from '../automation/jobs.ts'
import { listPublished } from '../automation/published-workflows.ts'
import { loadSubjects } from '../execution/load-subjects.ts'

/** A run that is started by request. Without a contact it has a mailbox of its own. */
export type NewStart = {
  workflowId: string
  trigger: { type: 'api' | 'manual' | 'webhook' | 'schedule' } & JsonObject
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
  const mailboxes = [...new Map(plannedRuns.map(({ mailbox }) => [mailbox.id, mailbox])).values()]
  const shared = mailboxes.filter(({ kind }) => kind !== 'run')
  await lockMailboxes(tx, shared)
  const context: StartContext = {
    subjects: new Map((await loadSubjects(tx, shared)).map((subject) => [subject.mailbox.id, subject])),
    activeRuns: await loadActiveRuns(tx, mailboxes),
    startedKeys: await findStartedKeys(tx, plannedRuns),
  }
  const results = plans.map((plan) => ('run' in plan ? admitRun(plan, context, tx.now()) : plan))
  await queueRuns(
    tx,
    results.flatMap((result) => ('run' in result ? [result] : [])),
  )
  return results.map((result) => ('run' in result ? { runId: result.run.state.id } : result))
}

type PlannedRun = { run: StoredRun; mailbox: Mailbox; workflow: PublishedWorkflow }
type AdmittedRun = PlannedRun & { replaces: StoredRun[] }
type StartContext = { subjects: Map<string, Subject>; activeRuns: StoredRun[]; startedKeys: Set<string> }

function planStart(
  start: NewStart,
  workflow: PublishedWorkflow | undefined,
  now: Date,
  contactMailboxes: Awaited<ReturnType<typeof findMailboxes>>,
): PlannedRun | { rejection: StartRejection } {
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

/** Requires the lock of the mailbox. Runs that were admitted before count as active. */
function admitRun(plan: PlannedRun, context: StartContext, now: Date): AdmittedRun | { rejection: StartRejection } {
  const { run, mailbox, workflow } = plan
  const { reentry } = workflow.compiled.settings
  const key = startKey(run)
  if (context.startedKeys.has(key)) return { rejection: 'duplicate' }
  const subject = context.subjects.get(mailbox.id)
  if (subject?.isBlocked) return { rejection: 'contact_blocked' }
  if (!isConditionMet(plan, subject, now)) return { rejection: 'condition_not_met' }
  const others = context.activeRuns.filter(
    (other) => other.workflowId === run.workflowId && runMailbox(other).id === mailbox.id,
  )
  if (others.length > 0 && reentry === 'ignore') return { rejection: 'already_running' }
  context.startedKeys.add(key)
  context.activeRuns.push(run)
  return { ...plan, replaces: reentry === 'restart' ? others : [] }
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
  const { result: match } = withWorkBudget(ITEM_WORK_MAX, () => matchTrigger(input))
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
    ...replaces.map(({ state }) => ({ id: newId(), mailbox, kind: 'cancel' as const, payload: { runId: state.id } })),
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
