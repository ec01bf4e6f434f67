import type { Party, Published } from './party.ts'
import { type NewRun, queueRun } from './run.ts'
import type { RunTrigger, StoredRun } from './run-store.ts'

export type RunBeginning = Omit<NewRun, 'trigger'> & {
  trigger: RunTrigger
  /** What started it; of two with one id, and one workflow, only the first is a run. */
  eventId: string
  contactId: string | null
  conversationId: string | null
  parentRunId?: string | null
  mailboxRunId?: string | null
  startedBy?: { type: string; id: string | null }
}

/** A live run of a workflow's published version, queued. */
export function newRun({ workflowId, version, compiled }: Published, beginning: RunBeginning, now: Date): StoredRun {
  const { eventId, contactId, conversationId, parentRunId = null, mailboxRunId = null, ...rest } = beginning
  const { startedBy, ...start } = rest
  return {
    workflowId,
    workflowVersion: version,
    contactId,
    conversationId,
    parentRunId,
    mailboxRunId,
    mode: 'live',
    trigger: start.trigger,
    triggerEventId: eventId,
    replayOf: null,
    rootRunId: start.id,
    replayFromStepId: null,
    startedBy: startedBy ?? { type: 'trigger', id: null },
    messagesSent: 0,
    createdAt: now,
    state: queueRun(compiled, start, now),
    wakeAt: null,
  }
}

/** Where a run is that another one of the mailbox starts. */
export function placeIn({
  contactId,
  conversationId,
  mailbox,
}: Party): Pick<RunBeginning, 'contactId' | 'conversationId' | 'mailboxRunId'> {
  return { contactId, conversationId, mailboxRunId: mailbox.kind === 'run' ? mailbox.id : null }
}
