import { type Mailbox, toMailbox } from './mailbox-key.ts'
import { isFinished, type JsonObject, type RunState } from './run.ts'

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

/** True if the run waits behind another one. A run that debounces does not: it is the one that others wait for. */
export function isQueued({ state: { status, debouncing } }: StoredRun): boolean {
  return status === 'queued' && debouncing === null
}

export function isActive({ workflowId, state }: StoredRun, id: string): boolean {
  return workflowId === id && !isFinished(state)
}

export function isAwaitedBy({ state: { parent } }: StoredRun, { waiting, epoch }: RunState): boolean {
  return waiting?.for === 'result' && parent?.epoch === epoch
}

export function isOverdue({ status, expiresAt }: RunState, now: number): boolean {
  return status === 'waiting' && expiresAt !== null && now > Date.parse(expiresAt)
}
