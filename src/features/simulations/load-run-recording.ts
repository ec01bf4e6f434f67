import type { DialogueEntry } from '../../engine/simulate/simulate.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import type { Run as RunRow } from '../../models/automation/run.ts'
import type { RunStep as StepRow } from '../../models/automation/run-step.ts'
import { getField } from '../../platform/get-field.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { messageFacts, type RecordedRun, withSteps } from './load-recording.ts'

const MESSAGES_MAX = 200

export type RunRecording = RecordedRun & {
  startedAt: Date
  /** The message that started the run. */
  first: MessageRow | null
  /** True if that was the first message of the conversation. */
  opensConversation: boolean
  /** What the customer said and what happened from then on, until the run was over. */
  later: DialogueEntry[]
  messages: MessageRow[]
}

type Happened = { at: Date; entry: Omit<DialogueEntry, 'afterMs'> }

/** What a run met on its way, as it was recorded. */
export async function loadRunRecording(scope: Scope, run: RunRow): Promise<RunRecording> {
  const [{ steps } = { steps: [] }] = await withSteps(scope, [run])
  const first = run.trigger.messageId === null ? null : ((await scope.find(MessageRow, run.trigger.messageId)) ?? null)
  const startedAt = first?.createdAt ?? run.createdAt
  const until = run.finishedAt ?? scope.now()
  const messages = await messagesOf(scope, { run, steps, first, startedAt, until })
  const happened = [...messages.map(saidOf), ...steps.flatMap(eventOf)].sort((a, b) => a.at.getTime() - b.at.getTime())
  const later = spread(happened, { startedAt, until })
  const opensConversation =
    first !== null && (run.trigger.type === 'conversation_opened' || !(await hasEarlier(scope, first)))
  return { run, steps, startedAt, first, opensConversation, later, messages }
}

type Span = { run: RunRow; steps: StepRow[]; first: MessageRow | null; startedAt: Date; until: Date }

/** What came while the run was under way. At the very moment of its end only what it took counts. */
async function messagesOf(scope: Scope, { run, steps, first, startedAt, until }: Span): Promise<MessageRow[]> {
  if (run.conversationId === null) return []
  const taken = new Set(steps.map(({ output }) => getField(output, 'messageId')).filter((id) => typeof id === 'string'))
  const rows = await scope
    .query(MessageRow)
    .where({ conversationId: run.conversationId, direction: 'inbound' })
    .where((wanted) => void wanted.where('createdAt', '>=', startedAt).orWhereIn('id', [...taken]))
    .where('createdAt', '<=', until)
    .whereNot('id', first?.id ?? run.id)
    .orderBy(['createdAt', 'id'])
    .limit(MESSAGES_MAX)
  return rows.filter(({ id, createdAt }) => createdAt < until || taken.has(id))
}

async function hasEarlier(scope: Scope, { conversationId, createdAt, id }: MessageRow): Promise<boolean> {
  const count = await scope
    .query(MessageRow)
    .where({ conversationId })
    .whereRaw('(created_at, id) < (?, ?)', [createdAt, id])
    .resultSize()
  return count > 0
}

function saidOf(message: MessageRow): Happened {
  return {
    at: message.createdAt,
    entry: { type: 'message', body: message.body, message: messageFacts(message) } as Happened['entry'],
  }
}

/** A custom event that a step waited for is known by what the step gave. */
function eventOf({ type, output, status, finishedAt }: StepRow): Happened[] {
  const name = getField(output, 'event')
  if (type !== 'wait_for_event' || status !== 'completed' || !finishedAt || typeof name !== 'string') return []
  const event = { type: 'event', event: name, data: getField(output, 'data') ?? null }
  return [{ at: finishedAt, entry: { type: 'event', event } as Happened['entry'] }]
}

/** The gaps between, and at the end the time that passed until the run was over. */
function spread(happened: Happened[], { startedAt, until }: { startedAt: Date; until: Date }): DialogueEntry[] {
  let at = startedAt
  const gapTo = (next: Date) => {
    const afterMs = Math.max(0, next.getTime() - at.getTime())
    at = addMs(at, afterMs)
    return afterMs
  }
  const entries = happened.map(({ at: next, entry }) => ({ ...entry, afterMs: gapTo(next) }) as DialogueEntry)
  const rest = gapTo(until)
  return rest > 0 ? [...entries, { type: 'advance', afterMs: rest }] : entries
}
