import type { MessageFacts } from '../../engine/model/run.ts'
import type { DialogueEntry } from '../../engine/simulate/simulate.ts'
import { Run as RunRow, RunStep as StepRow } from '../../models/automation.ts'
import { Conversation as ConversationRow, Message as MessageRow } from '../../models/messaging.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { getField } from '../../platform/fields.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { toMessageFacts } from '../automation/store/load-messages.ts'

const MESSAGES_MAX = 200

export type RecordedRun = { run: RunRow; steps: StepRow[] }

export type Recording = { startedAt: Date; dialogue: DialogueEntry[]; runs: RecordedRun[] }

export type RunRecording = RecordedRun & {
  startedAt: Date
  /** The message that started the run. */
  first: MessageRow | null
  /** True if that was the first message of the conversation. */
  opensConversation: boolean
  /** Messages and events from then until the run finished. */
  later: DialogueEntry[]
  messages: MessageRow[]
}

/** An entry with its time; the delay within `entry` is not set yet. */
type TimedEntry = { at: Date; entry: DialogueEntry }

type RunPeriod = { run: RunRow; steps: StepRow[]; first: MessageRow | null; startedAt: Date; until: Date }

/** Loads the inbound messages of a conversation with the delays between them, and the runs of the workflow at that time. */
export async function loadRecording(
  scope: Scope,
  { conversationId, workflowId }: { conversationId: string; workflowId: string },
): Promise<Recording> {
  await scope.get(ConversationRow, conversationId)
  const messages = await scope
    .query(MessageRow)
    .where({ conversationId, direction: 'inbound' })
    .orderBy(['createdAt', 'id'])
    .limit(MESSAGES_MAX)
  const [first] = messages
  if (!first)
    throw new UnprocessableError(
      'input_not_recorded',
      'This conversation has no inbound messages. Pass a dialogue instead',
    )
  const runs = await scope
    .query(RunRow)
    .where({ conversationId, workflowId, mode: 'live' })
    .whereNull('replayOf')
    .orderBy(['createdAt', 'id'])
    .limit(MESSAGES_MAX)
  return { startedAt: first.createdAt, dialogue: toDialogue(messages), runs: await withSteps(scope, runs) }
}

export function toDialogue(messages: MessageRow[], startedAt?: Date): DialogueEntry[] {
  return messages.map((message, index) => {
    const previousAt = messages[index - 1]?.createdAt ?? startedAt ?? message.createdAt
    const afterMs = Math.max(0, message.createdAt.getTime() - previousAt.getTime())
    return { type: 'message', body: message.body, afterMs, message: messageFacts(message) }
  })
}

/** Loads the messages and events of a run as they were recorded. */
export async function loadRunRecording(scope: Scope, run: RunRow): Promise<RunRecording> {
  const [{ steps } = { steps: [] }] = await withSteps(scope, [run])
  const first = run.trigger.messageId === null ? null : ((await scope.find(MessageRow, run.trigger.messageId)) ?? null)
  const startedAt = first?.createdAt ?? run.createdAt
  const until = run.finishedAt ?? scope.now()
  const messages = await loadMessages(scope, { run, steps, first, startedAt, until })
  const entries = [...messages.map(toMessageEntry), ...steps.flatMap(toEventEntry)]
  entries.sort((a, b) => a.at.getTime() - b.at.getTime())
  const later = withDelays(entries, { startedAt, until })
  const opensConversation =
    first !== null && (run.trigger.type === 'conversation_opened' || !(await hasEarlier(scope, first)))
  return { run, steps, startedAt, first, opensConversation, later, messages }
}

function messageFacts({ id, body, type, content, providerAt, createdAt }: MessageRow): MessageFacts {
  return toMessageFacts(id, { body, type, content, at: providerAt ?? createdAt })
}

async function withSteps(scope: Scope, runs: RunRow[]): Promise<RecordedRun[]> {
  const steps = await scope
    .query(StepRow)
    .whereIn(
      'runId',
      runs.map(({ id }) => id),
    )
    .orderBy('index')
  const byRun = new Map<string, StepRow[]>(runs.map(({ id }) => [id, []]))
  for (const step of steps) byRun.get(step.runId)?.push(step)
  return runs.map((run) => ({ run, steps: byRun.get(run.id) ?? [] }))
}

/** Loads the messages that arrived during the run. Of those at the exact time of its end, only consumed ones count. */
async function loadMessages(scope: Scope, { run, steps, first, startedAt, until }: RunPeriod): Promise<MessageRow[]> {
  if (run.conversationId === null) return []
  const consumed = new Set(
    steps.map(({ output }) => getField(output, 'messageId')).filter((id) => typeof id === 'string'),
  )
  const rows = await scope
    .query(MessageRow)
    .where({ conversationId: run.conversationId, direction: 'inbound' })
    .where((either) => void either.where('createdAt', '>=', startedAt).orWhereIn('id', [...consumed]))
    .where('createdAt', '<=', until)
    .whereNot('id', first?.id ?? run.id)
    .orderBy(['createdAt', 'id'])
    .limit(MESSAGES_MAX)
  return rows.filter(({ id, createdAt }) => createdAt < until || consumed.has(id))
}

async function hasEarlier(scope: Scope, { conversationId, createdAt, id }: MessageRow): Promise<boolean> {
  const count = await scope
    .query(MessageRow)
    .where({ conversationId })
    .whereRaw('(created_at, id) < (?, ?)', [createdAt, id])
    .resultSize()
  return count > 0
}

function toMessageEntry(message: MessageRow): TimedEntry {
  return {
    at: message.createdAt,
    entry: { type: 'message', body: message.body, message: messageFacts(message), afterMs: 0 },
  }
}

/** A custom event is only recorded in the output of the step that waited for it. */
function toEventEntry({ type, output, status, finishedAt }: StepRow): TimedEntry[] {
  const name = getField(output, 'event')
  if (type !== 'wait_for_event' || status !== 'completed' || !finishedAt || typeof name !== 'string') return []
  const event = { type: 'event' as const, event: name, data: getField(output, 'data') ?? null }
  return [{ at: finishedAt, entry: { type: 'event', event, afterMs: 0 } }]
}

/** Sets the delays between the entries, and adds the time that passed until the run finished. */
function withDelays(entries: TimedEntry[], { startedAt, until }: { startedAt: Date; until: Date }): DialogueEntry[] {
  let at = startedAt
  const delayTo = (next: Date) => {
    const afterMs = Math.max(0, next.getTime() - at.getTime())
    at = addMs(at, afterMs)
    return afterMs
  }
  const dialogue = entries.map(({ at: next, entry }): DialogueEntry => ({ ...entry, afterMs: delayTo(next) }))
  const rest = delayTo(until)
  return rest > 0 ? [...dialogue, { type: 'advance', afterMs: rest }] : dialogue
}
