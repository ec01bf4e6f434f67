import { type Mailbox, toMailbox } from './mailbox-key.ts'
import type { JsonObject, RunState } from './run.ts'

/** The event that started a run, with the fields that its trigger type records. */
export type RunTrigger = { type: string; messageId: string | null } & JsonObject

/** A run with the fields that the engine keeps beside its state. */
export type StoredRun = {
  workflowId: string
  workflowVersion: number
  contactId: string | null
  conversationId: string | null
  parentRunId: string | null
  /** The run that owns the mailbox, for a run without a contact that another run started. */
  mailboxRunId: string | null
  mode: 'live' | 'dry_run'
  trigger: RunTrigger
  triggerEventId: string
  replayOf: string | null
  rootRunId: string
  replayFromStepId: string | null
  startedBy: { type: string; id: string | null }
  messagesSent: number
  createdAt: Date
  state: RunState
  /** Due time of its timer; null if it does not wait. */
  wakeAt: string | null
  /** True if the batch that is being processed created it, so that it was never stored. */
  isNew?: boolean
  /** True if it started in the batch that is being processed. */
  hasStarted?: boolean
}

export function runMailbox({ state: { id }, ...run }: StoredRun): Mailbox {
  return toMailbox({ id, ...run })
}
