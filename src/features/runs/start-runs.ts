import type { Mailbox } from '../../engine/model/mailbox-key.ts'
import { type StoredRun, runMailbox } from '../../engine/model/stored-run.ts'
import { advanceJob } from '../automation/jobs.ts'
import { assignVariables } from '../../engine/decide/assign-variables.ts'
import { lockMailboxes, putItems } from '../automation/store/mailbox-store.ts'
import { matchTrigger } from '../../engine/mailbox/match-trigger.ts'
import { newRun } from '../../engine/model/new-run.ts'
import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import { loadActiveRuns, saveRuns } from '../automation/store/run-store.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { workflowLanguage } from '../../workflow-language.ts'
import { findMailboxes } from '../automation/find-mailboxes.ts'
import { loadSubjects } from '../execution/load-subjects.ts'
import { listPublished } from '../automation/published-workflows.ts'

/** A run that is started on purpose. Without a contact it has a mailbox of its own. */
export type NewStart = {
  workflowId: string
  trigger: { type: 'api' | 'manual' | 'webhook' | 'schedule' } & JsonObject
  input?: unknown
  /** Over the defaults that the definition declares. */
  variables?: JsonObject
  contactId?: string | null
  /** Of that contact; by default its newest. */
  conversationId?: string | null
  startedBy: { type: string; id: string | null }
  /** Starts with the same id start one run of a workflow. */
  eventId?: string
}

export type NotStarted =
  'not_published' | 'trigger_not_found' | 'invalid_variables' | 'condition_not_met' | 'already_running' | 'duplicate'
export type Started = { runId: string } | { refused: NotStarted }

/**
 * Queues runs, as the re-entry policies of their workflows allow, each behind what its mailbox already holds. Answers
 * one entry per start, in order.
 */
export async function startRuns(tx: Scope, starts: NewStart[]): Promise<Started[]> {
  const published = new Map((await listPublished(tx)).map((workflow) => [workflow.workflowId, workflow]))
  const places = await findMailboxes(
    tx,
    starts.flatMap(({ contactId }) => contactId ?? []),
  )
  const plans = starts.map((start) => plan(start, published.get(start.workflowId), tx.now(), places))
  const wanted = plans.flatMap((planned) => ('run' in planned ? [planned] : []))
  const mailboxes = [...new Map(wanted.map(({ mailbox }) => [mailbox.id, mailbox])).values()]
  const shared = mailboxes.filter(({ kind }) => kind !== 'run')
  await lockMailboxes(tx, shared)
  const known: Known = {
    parties: new Map((await loadSubjects(tx, shared)).map((party) => [party.mailbox.id, party])),
    open: await loadActiveRuns(tx, mailboxes),
    started: await findStarted(tx, wanted),
  }
  const results = plans.map((planned) => ('run' in planned ? admit(planned, known, tx.now()) : planned))
  await queue(
    tx,
    results.flatMap((result) => ('run' in result ? [result] : [])),
  )
  return results.map((result) => ('run' in result ? { runId: result.run.state.id } : result))
}

type Planned = { run: StoredRun; mailbox: Mailbox; workflow: PublishedWorkflow }
type Admitted = Planned & { replaces: StoredRun[] }
type Known = { parties: Map<string, Subject>; open: StoredRun[]; started: Set<string> }

function plan(
  start: NewStart,
  workflow: PublishedWorkflow | undefined,
  now: Date,
  places: Awaited<ReturnType<typeof findMailboxes>>,
): Planned | { refused: NotStarted } {
  if (!workflow) return { refused: 'not_published' }
  const { trigger, input = null, contactId = null, variables = {}, startedBy } = start
  if (!workflow.compiled.triggers.some(({ type }) => type === trigger.type)) return { refused: 'trigger_not_found' }
  const id = newId()
  const conversationId = start.conversationId ?? (contactId && places.get(contactId)?.conversationId) ?? null
  const told = { messageId: null, ...trigger }
  const from = { id, trigger: told, eventId: start.eventId ?? id, contactId, conversationId, startedBy }
  const run = newRun(workflow, { ...from, input }, now)
  const assigned = assignVariables(run.state, workflow.compiled, variables)
  if (assigned.failure) return { refused: 'invalid_variables' }
  run.state.variables = assigned.variables
  return { run, mailbox: runMailbox(run), workflow }
}

/** The caller holds the mailbox's lock. Runs admitted before count as open. */
function admit(planned: Planned, known: Known, now: Date): Admitted | { refused: NotStarted } {
  const { run, mailbox, workflow } = planned
  const { reentry } = workflow.compiled.settings
  const key = keyOf(run)
  if (known.started.has(key)) return { refused: 'duplicate' }
  if (!isAllowed(planned, known.parties.get(mailbox.id), now)) return { refused: 'condition_not_met' }
  const others = known.open.filter(
    (other) => other.workflowId === run.workflowId && runMailbox(other).id === mailbox.id,
  )
  if (others.length > 0 && reentry === 'ignore') return { refused: 'already_running' }
  known.started.add(key)
  known.open.push(run)
  return { ...planned, replaces: reentry === 'restart' ? others : [] }
}

function isAllowed({ run: { trigger, state }, workflow }: Planned, party: Subject | undefined, now: Date): boolean {
  if (trigger.type !== 'api' && trigger.type !== 'manual') return true
  const { contact = null, conversation = null, workspace = {} } = party ?? {}
  const { workflowId: id, name, version, compiled } = workflow
  const facts = { contact, conversation, workspace, workflow: { id, name, version } }
  const event = { type: trigger.type, input: state.input }
  const match = matchTrigger({ compiled, event, facts, now, registry: workflowLanguage })
  return match !== undefined && 'trigger' in match
}

function keyOf({ workflowId, triggerEventId }: StoredRun): string {
  return `${workflowId}:${triggerEventId}`
}

async function findStarted(tx: Scope, planned: Planned[]): Promise<Set<string>> {
  const given = planned.filter(({ run }) => run.triggerEventId !== run.state.id)
  if (given.length === 0) return new Set()
  const ids = [...new Set(given.map(({ run }) => run.triggerEventId))].sort()
  // Two calls with one id at once: the second waits here, and then sees the first one's run.
  await tx.db.raw(
    `select pg_advisory_xact_lock(hashtextextended(id, 2)) from unnest(?::text[]) with ordinality as x (id, n) order by n`,
    [ids],
  )
  const { rows } = await tx.db.raw<{ rows: { key: string }[] }>(
    `select workflow_id || ':' || trigger_event_id as key from runs where tenant_id = ? and trigger_event_id = any(?)`,
    [tx.tenantId, ids],
  )
  return new Set(rows.map(({ key }) => key))
}

async function queue(tx: Scope, admitted: Admitted[]): Promise<void> {
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
  await tx.enqueue(advanceJob(tx.tenantId))
}
