import type { MessageFacts } from '../../engine/model/run.ts'
import type { DialogueEntry } from '../../engine/simulate/simulate.ts'
import { Conversation as ConversationRow, Message as MessageRow } from '../../models/messaging.ts'
import { Run as RunRow, RunStep as StepRow } from '../../models/automation.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'

const MESSAGES_MAX = 200

export type RecordedRun = { run: RunRow; steps: StepRow[] }

export type Recording = { startedAt: Date; dialogue: DialogueEntry[]; runs: RecordedRun[] }

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
  if (!first) throw new UnprocessableError('input_not_recorded', 'This conversation has no inbound messages')
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

export function messageFacts({ id, body, type, content, providerAt, createdAt }: MessageRow): MessageFacts {
  return { id, body, type, content, at: (providerAt ?? createdAt).toISOString() }
}

export async function withSteps(scope: Scope, runs: RunRow[]): Promise<RecordedRun[]> {
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
