import type { Published } from './party.ts'
import { type NewRun, queueRun } from './run.ts'
import type { RunTrigger, StoredRun } from './run-store.ts'

export type RunBeginning = Omit<NewRun, 'trigger'> & {
  trigger: RunTrigger
  /** What started it; of two with one id, and one workflow, only the first is a run. */
  eventId: string
  contactId: string | null
  conversationId: string | null
  parentRunId?: string | null
  startedBy?: { type: string; id: string | null }
}

/** A live run of a workflow's published version, queued. */
export function newRun({ workflowId, version, compiled }: Published, beginning: RunBeginning, now: Date): StoredRun {
  const { eventId, contactId, conversationId, parentRunId = null, startedBy, ...start } = beginning
  return {
    workflowId,
    workflowVersion: version,
    contactId,
    conversationId,
    parentRunId,
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
