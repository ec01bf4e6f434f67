import { type Mailbox, toMailbox } from './mailbox-key.ts'
import type { JsonObject, RunState } from './run.ts'

/** What started a run: its kind, and what that kind has to say. */
export type RunTrigger = { type: string; messageId: string | null } & JsonObject

/** A run with what the engine keeps beside its state. */
export type StoredRun = {
  workflowId: string
  workflowVersion: number
  contactId: string | null
  conversationId: string | null
  parentRunId: string | null
  /** Of a run about nobody that another run started: that with the mailbox. */
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
  /** When its timer rings; null if it does not wait. */
  wakeAt: string | null
  /** It has begun in the turn that is being taken. */
  hasBegun?: boolean
}

export function runMailbox({ state: { id }, ...run }: StoredRun): Mailbox {
  return toMailbox({ id, ...run })
}
