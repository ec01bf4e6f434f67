import type { Mailbox } from '../model/mailbox-key.ts'
import type { StepRecord } from '../model/run.ts'
import type { StoredRun } from '../model/stored-run.ts'
import type { MailboxItem, NewItem, NextItem } from './item.ts'

/** Items of mailboxes. Every method works in a transaction of one tenant, for a whole batch. */
export interface MailboxStore<Tx> {
  /** Locks mailboxes, everywhere in the same order: what is read afterwards includes the previous holder's commit. */
  lockMailboxes(tx: Tx, mailboxes: Mailbox[]): Promise<void>
  /** Takes the due items out of locked mailboxes, in the order of their ids; with `only` just that one. */
  takeItems(tx: Tx, claim: { mailboxes: Mailbox[]; only: string | null }): Promise<MailboxItem[]>
  nextItem(tx: Tx, mailbox: Mailbox): Promise<NextItem | undefined>
  /** Postpones a failed item of a locked mailbox that is still due, and those behind it, with backoff. */
  postponeItem(tx: Tx, mailbox: Mailbox, failure: { id: string; countsAttempt: boolean }): Promise<void>
  /** Gives a failed item all its attempts again. */
  resetAttempts(tx: Tx, mailbox: Mailbox, id: string): Promise<void>
  /** Puts items behind those of their mailboxes, also behind one that waits for another attempt. */
  putItems(tx: Tx, items: NewItem[]): Promise<void>
}

export type CascadeCount = { mailboxId: string; workflowId: string; count: number }

/** Runs with their waits and step records. Every method works in a transaction of one tenant, for a whole batch. */
export interface RunStore<Tx> {
  /** Loads the unfinished runs of mailboxes, the newest first. */
  loadActiveRuns(tx: Tx, mailboxes: Mailbox[]): Promise<StoredRun[]>
  /** Inserts new runs and updates existing ones. */
  saveRuns(tx: Tx, runs: StoredRun[]): Promise<void>
  /** Replaces the waits of runs. */
  saveWaits(tx: Tx, runs: StoredRun[]): Promise<void>
  /** Saves step records under their run and index; of several the last one counts. */
  saveSteps(tx: Tx, steps: { runId: string; step: StepRecord }[]): Promise<void>
  /** Counts runs at least `depthMin` deep that were created after `since`, by mailbox and workflow. */
  countCascades(tx: Tx, query: { mailboxes: Mailbox[]; depthMin: number; since: Date }): Promise<CascadeCount[]>
}
