import type { StoredRun, RunTrigger } from './stored-run.ts'
import type { Subject, PublishedWorkflow } from './subject.ts'
import { type NewRun, queueRun, type RunState } from './run.ts'

/** Where a run comes from, and where it has its place. */
export type RunOrigin = {
  trigger: RunTrigger
  /** What started it; of two with one id, and one workflow, only the first is a run. */
  eventId: string
  contactId: string | null
  conversationId: string | null
  parentRunId?: string | null
  mailboxRunId?: string | null
  startedBy?: { type: string; id: string | null }
}

export type RunStart = RunOrigin & Omit<NewRun, 'trigger'>

/** A live run of a workflow's published version, queued. */
export function newRun(workflow: PublishedWorkflow, beginning: RunStart, now: Date): StoredRun {
  return toStoredRun(workflow, queueRun(workflow.compiled, beginning, now), beginning)
}

/** A live run around a state that was just queued. */
export function toStoredRun(
  { workflowId, version }: Pick<PublishedWorkflow, 'workflowId' | 'version'>,
  state: RunState,
  { trigger, eventId, contactId, conversationId, ...origin }: RunOrigin,
): StoredRun {
  const { parentRunId = null, mailboxRunId = null, startedBy = { type: 'trigger', id: null } } = origin
  return {
    workflowId,
    workflowVersion: version,
    contactId,
    conversationId,
    parentRunId,
    mailboxRunId,
    mode: 'live',
    trigger,
    triggerEventId: eventId,
    replayOf: null,
    rootRunId: state.id,
    replayFromStepId: null,
    startedBy,
    messagesSent: 0,
    createdAt: new Date(state.queuedAt),
    state,
    wakeAt: null,
  }
}

/** Where a run is that another one of the mailbox starts. */
export function subjectPlace({
  contactId,
  conversationId,
  mailbox,
}: Subject): Pick<RunOrigin, 'contactId' | 'conversationId' | 'mailboxRunId'> {
  return { contactId, conversationId, mailboxRunId: mailbox.kind === 'run' ? mailbox.id : null }
}
