import type { ExternalCall } from '../model/decision.ts'
import type { EvaluatedEvent } from '../model/evaluation.ts'
import type { Mailbox } from '../model/mailbox-key.ts'
import type { Registry } from '../model/registry.ts'
import type { MessageFacts, StepRecord } from '../model/run.ts'
import type { StoredRun } from '../model/stored-run.ts'
import type { PublishedWorkflow, Subject, UnusableWorkflow } from '../model/subject.ts'
import type { RunEffects } from './active-runs.ts'
import type { NextItem } from './item.ts'
import type { MailboxStore, RunStore } from './store.ts'

/** A transaction of one tenant. */
export type EngineTransaction = { now(): Date }

/** The result of a batch of mailboxes, committed as a whole. */
export type Advance = {
  /** The runs that changed. */
  runs: StoredRun[]
  /** Complete records, repeated after every change. */
  steps: { runId: string; step: StepRecord }[]
  /** In the order in which they were decided. */
  effects: RunEffects[]
  calls: { run: StoredRun; call: ExternalCall }[]
  evaluated: EvaluatedEvent[]
}

/** The dependencies of a decision. Every call is for a whole batch. */
export interface DecisionPort<Tx extends EngineTransaction> {
  readonly registry: Registry
  readonly store: MailboxStore<Tx> & RunStore<Tx>
  newId(): string
  /** Omits mailboxes that no longer exist. */
  loadSubjects(tx: Tx, mailboxes: Mailbox[]): Promise<Subject[]>
  loadMessages(tx: Tx, messageIds: string[]): Promise<Map<string, MessageFacts>>
  loadPublished(tx: Tx): Promise<{ workflows: PublishedWorkflow[]; unusable: UnusableWorkflow[] }>
  /** Loads workflows at these versions, published or not, and omits those that do not exist. */
  loadWorkflows(tx: Tx, versions: { workflowId: string; version: number }[]): Promise<PublishedWorkflow[]>
  /**
   * Applies the effects of a batch, whose runs are saved before, and publishes its events. Calls `saveSteps` when it has sent
   * the statements that insert the messages of the steps.
   */
  apply(tx: Tx, advance: Advance, saveSteps: () => Promise<void>): Promise<void>
}

/** `size`: the number of mailboxes; with it, the work may share a transaction of the database with other tenants. */
export type TransactionOptions = { size?: number; lockTimeoutMs?: number }

/** Mailboxes with due items; `areAll` if the tenant has no others. */
export type DueMailboxes = { mailboxes: Mailbox[]; areAll: boolean }

export interface EnginePort<Tx extends EngineTransaction> extends DecisionPort<Tx> {
  /** Lists the mailboxes of the due items of a tenant that have waited longest, at most `limit` items. */
  listDueMailboxes(tenantId: string, limit: number): Promise<DueMailboxes>
  transaction<T>(tenantId: string, work: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  /**
   * Executes a transaction for mailboxes or, if it fails, several ones for parts of them. Returns those that failed alone,
   * and in an outage all that were left.
   */
  split(
    mailboxes: Mailbox[],
    run: (part: Mailbox[], options: TransactionOptions) => Promise<unknown>,
  ): Promise<Mailbox[]>
  /** Returns true for a failure that says nothing about the item, such as an outage. It costs no attempt for an hour. */
  isTransient(error: unknown): boolean
  /** Takes an item that failed at its last attempt out of its mailbox and keeps it with the reason; false if it is gone. */
  deadLetter(tx: Tx, failed: { mailbox: Mailbox; item: NextItem; error: unknown }): Promise<boolean>
  /** Reports that an item could not be processed. */
  report(error: unknown, about: ItemFailure): void
}

export type ItemFailure = {
  tenantId: string
  mailbox: Mailbox
  itemId: string
  /** The run that the item is about, if it is about one. */
  runId?: string
  /** The trace of the failure, if one is exported. */
  traceId?: string
  isDeadLettered: boolean
}
