import { moveRun } from '../../engine/model/move-run.ts'
import type { RunState } from '../../engine/model/run.ts'
import { Conversation as ConversationRow } from '../../models/messaging.ts'
import { joinFragments, type SqlFragment, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { addMs, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { advanceJob } from '../automation/jobs.ts'
import { moveWaitInput } from '../../steps/flow/wait.ts'
import { lockContacts } from '../automation/lock-order.ts'
import { getConversation } from '../conversations/queries.ts'
import type { Conversation } from '../conversations/schema.ts'
import { toWindowKey } from '../external-calls/throttle-windows.ts'
import { assertSandbox } from './mark-read.ts'
import type { AdvanceClock } from './schema.ts'

/** Rows that one call moves. Runs have their whole state. */
const RUNS_MAX = 200
const MESSAGES_MAX = 2000
const STEPS_MAX = 5000
const EVALUATIONS_MAX = 5000

type StoredRun = { id: string; workflowId: string; state: RunState }
type StoredStep = { id: string; type: string; input: unknown }
type History = {
  runs: StoredRun[]
  waits: StoredStep[]
  messageIds: string[]
}

/**
 * Lets time pass for a conversation of the sandbox: everything stored about it and its runs moves back, so that all delays
 * between two of its times stay as they are. What belongs to its contact and to no conversation moves as well, unless the
 * contact also has conversations on other channels: for a real customer no time passes.
 *
 * Three kinds of times stay. Leases of work that a process does, such as that of a call in flight, which another one would
 * do again; the time-out and the next attempt of a call are waits of its run. Records of what was done, such as consents,
 * events, the audit log and recipients of broadcasts. Limits that others share, such as a throttle whose key is not the
 * contact.
 * @throws NotFoundError, UnprocessableError `conversation_not_sandbox`, `conversation_too_long`
 */
export function advanceClock(scope: Scope, { conversationId, seconds }: AdvanceClock): Promise<Conversation> {
  return scope.transaction(async (tx) => {
    const conversation = await tx.lock(ConversationRow, conversationId)
    await assertSandbox(tx, conversation)
    await lockContacts(tx, [conversation.contactId])
    const isPlayed = await isOnSandboxOnly(tx, conversation)
    const history = await lockHistory(tx, conversation, isPlayed)
    await moveConversation(tx, conversation, seconds)
    if (isPlayed) {
      await moveContact(tx, conversation.contactId, seconds)
      await moveThrottles(tx, conversation.contactId, { history, seconds })
    }
    await moveItems(tx, isPlayed ? [conversationId, conversation.contactId] : [conversationId], seconds)
    await moveRuns(tx, history, seconds)
    await moveMessages(tx, conversation, { history, seconds })
    const { id, contactId } = conversation
    const changed = (['lastMessageAt', 'lastInboundAt', 'windowExpiresAt'] as const).filter(
      (field) => conversation[field] !== null,
    )
    await tx.record({ type: 'conversation.updated', data: { conversationId: id, contactId, changed } })
    tx.enqueue(advanceJob(tx.tenantId))
    return getConversation(tx, { conversationId })
  })
}

async function isOnSandboxOnly(tx: Scope, { contactId, channelId }: ConversationRow): Promise<boolean> {
  const others = await tx.sql('findOtherConversation')`
    select from conversations
    where tenant_id = ${tx.tenantId} and contact_id = ${contactId} and channel_id <> ${channelId} limit 1`
  return others.length === 0
}

/** Locks the runs and then the messages. @throws UnprocessableError `conversation_too_long` */
async function lockHistory(tx: Scope, { id, contactId }: ConversationRow, isPlayed: boolean): Promise<History> {
  const { tenantId } = tx
  const ofContact = isPlayed ? sqlFragment`or (contact_id = ${contactId} and conversation_id is null)` : sqlFragment``
  const runs = await tx.sql<StoredRun>('lockRunsOfSandbox')`
    select id, workflow_id, state from runs
    where tenant_id = ${tenantId} and (conversation_id = ${id} ${ofContact})
    order by id limit ${RUNS_MAX + 1} for no key update`
  const messages = await tx.sql<{ id: string }>('lockMessagesOfSandbox')`
    select id from messages where tenant_id = ${tenantId} and conversation_id = ${id}
    order by id limit ${MESSAGES_MAX + 1} for no key update`
  if (runs.length > RUNS_MAX || messages.length > MESSAGES_MAX) throw tooLongError()
  const runIds = runs.map((run) => run.id)
  const [counted] = await tx.sql<{ steps: number; evaluations: number }>('countRowsOfSandbox')`
    select
      (select count(*)::int from (
         select 1 from run_steps where tenant_id = ${tenantId} and run_id = any(${runIds}) limit ${STEPS_MAX + 1}) s) as steps,
      (select count(*)::int from (
         select 1 from trigger_evaluations where tenant_id = ${tenantId} and contact_id = ${contactId}
           and conversation_id = ${id} limit ${EVALUATIONS_MAX + 1}) e) as evaluations`
  if (!counted || counted.steps > STEPS_MAX || counted.evaluations > EVALUATIONS_MAX) throw tooLongError()
  const waits = await tx.sql<StoredStep>('listWaitsOfSandbox')`
    select id, type, input from run_steps
    where tenant_id = ${tenantId} and run_id = any(${runIds}) and type = 'wait' and input is not null limit ${STEPS_MAX}`
  return { runs, waits, messageIds: messages.map((message) => message.id) }
}

function tooLongError(): UnprocessableError {
  return new UnprocessableError(
    'conversation_too_long',
    `Time passes only for conversations with at most ${MESSAGES_MAX} messages, ${RUNS_MAX} runs, ${STEPS_MAX} steps and ${EVALUATIONS_MAX} evaluations of triggers. Write from another phone number`,
    { messagesMax: MESSAGES_MAX, runsMax: RUNS_MAX, stepsMax: STEPS_MAX, evaluationsMax: EVALUATIONS_MAX },
  )
}

/** Moves the service window, the pause and the end of snoozing. */
async function moveConversation(tx: Scope, conversation: ConversationRow, seconds: number): Promise<void> {
  const ms = -seconds * SECOND
  const move = (at: Date | null): Date | null => at && addMs(at, ms)
  const { id, lastMessage } = conversation
  await tx
    .query(ConversationRow)
    .findOne('id', id)
    .patch({
      lastMessage: lastMessage && { ...lastMessage, at: addMs(new Date(lastMessage.at), ms).toISOString() },
      lastMessageAt: move(conversation.lastMessageAt),
      lastInboundAt: move(conversation.lastInboundAt),
      windowExpiresAt: move(conversation.windowExpiresAt),
      automationUntil: move(conversation.automationUntil),
      snoozedUntil: move(conversation.snoozedUntil),
      closedAt: move(conversation.closedAt),
      createdAt: addMs(conversation.createdAt, ms),
      updatedAt: tx.now(),
    })
}

async function moveContact(tx: Scope, contactId: string, seconds: number): Promise<void> {
  await tx.sql('moveContact')`
    update contacts set ${movedSql(['last_inbound_at', 'last_outbound_at'], seconds)}
    where tenant_id = ${tx.tenantId} and id = ${contactId}`
}

/** Moves the windows of the throttle steps that count the runs of this contact only. */
async function moveThrottles(
  tx: Scope,
  contactId: string,
  { history: { runs }, seconds }: { history: History; seconds: number },
): Promise<void> {
  const workflowIds = Object.fromEntries(runs.map(({ id, workflowId }) => [id, workflowId]))
  const throttles = await tx.sql<{ runId: string; stepId: string }>('listThrottlesOfSandbox')`
    select distinct run_id, step_id from run_steps
    where tenant_id = ${tx.tenantId} and run_id = any(${Object.keys(workflowIds)}) and type = 'throttle'
      and input ->> 'key' = ${contactId} limit ${STEPS_MAX}`
  const keys = throttles.map(({ runId, stepId }) => toWindowKey(workflowIds[runId] ?? null, stepId, contactId))
  if (keys.length === 0) return
  await tx.sql('moveThrottles')`
    update throttle_windows set ${movedSql(['ends_at'], seconds)}
    where tenant_id = ${tx.tenantId} and key = any(${keys})`
}

/** Moves the items of mailboxes that wait for a time. */
async function moveItems(tx: Scope, mailboxIds: string[], seconds: number): Promise<void> {
  await tx.sql('moveItems')`
    update mailbox_items set ${movedSql(['due_at', 'retry_at'], seconds)}
    where tenant_id = ${tx.tenantId} and mailbox_id = any(${mailboxIds}) and due_at > ${tx.now()}`
}

async function moveRuns(tx: Scope, { runs, waits }: History, seconds: number): Promise<void> {
  if (runs.length === 0) return
  const { tenantId } = tx
  const ms = -seconds * SECOND
  const ids = runs.map(({ id }) => id)
  const states = Object.fromEntries(runs.map(({ id, state }) => [id, moveRun(state, ms, moveWaitInput)]))
  const inputs = Object.fromEntries(waits.map((step) => [step.id, moveWaitInput(step, ms)]))
  await tx.sql('moveRuns')`
    update runs set state = ${JSON.stringify(states)}::jsonb -> id::text,
      ${movedSql(['queued_at', 'started_at', 'finished_at', 'waiting_until', 'created_at'], seconds)}
    where tenant_id = ${tenantId} and id = any(${ids})`
  await tx.sql('moveSteps')`
    update run_steps set input = coalesce(${JSON.stringify(inputs)}::jsonb -> id::text, input),
      ${movedSql(['started_at', 'finished_at', 'waiting_until'], seconds)}
    where tenant_id = ${tenantId} and run_id = any(${ids})`
  await tx.sql('moveWaits')`
    update run_waits set ${movedSql(['due_at', 'created_at'], seconds)}
    where tenant_id = ${tenantId} and run_id = any(${ids})`
}

async function moveMessages(
  tx: Scope,
  { id, contactId }: ConversationRow,
  { history: { messageIds }, seconds }: { history: History; seconds: number },
): Promise<void> {
  const { tenantId } = tx
  const times = ['provider_at', 'send_at', 'release_at', 'sent_at', 'delivered_at', 'read_at', 'failed_at']
  await tx.sql('moveMessages')`
    update messages set ${movedSql([...times, 'created_at', 'updated_at'], seconds)}
    where tenant_id = ${tenantId} and id = any(${messageIds})`
  await tx.sql('moveStatuses')`
    update message_statuses set ${movedSql(['provider_at', 'created_at'], seconds)}
    where tenant_id = ${tenantId} and message_id = any(${messageIds})`
  await tx.sql('moveEvaluations')`
    update trigger_evaluations set ${movedSql(['created_at'], seconds)}
    where tenant_id = ${tenantId} and contact_id = ${contactId} and conversation_id = ${id}`
}

const EPOCH = new Date(0)

/**
 * Returns SQL assignments that move times back. A distributed database subtracts no interval from a column in an update,
 * as that depends on the time zone of the session.
 */
function movedSql(columns: readonly string[], seconds: number): SqlFragment {
  const moved = columns.map((name) => {
    const column = sqlText(name)
    return sqlFragment`${column} = to_timestamp(extract(epoch from (${column} - ${EPOCH}::timestamptz))::float8 - ${seconds}::float8)`
  })
  return joinFragments(moved, ', ')
}
