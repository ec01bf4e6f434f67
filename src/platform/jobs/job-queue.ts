import type { Database } from '../database/database.ts'
import { MINUTE } from '../time.ts'

/**
 * A wake-up for a worker. Our own tables are the source of truth, so a job may be lost, duplicated or late without harm:
 * its handler looks up what is due. Waiting jobs with the same key are merged into one.
 */
export type Job = { task: string; key: string; payload: Record<string, string> }

/** A place among the jobs of this process, kept for work that a transaction prepares. The first call of the two counts. */
export type JobPlace = {
  /** Does the work in the place, after the commit. */
  take(work: () => Promise<void>): void
  /** Gives the place up. */
  leave(): void
}

export type JobControl = {
  /** Aborts when the process stops: a long task should then end early. */
  signal?: AbortSignal | undefined
  /** Lets the next job start before this one, which only waits for another system, has ended. */
  release?: (() => void) | undefined
  /** Keeps a place for the work of another job, if this process may do it now. */
  reserve?: ((job: Job) => JobPlace | undefined) | undefined
}

/** Handler of a task. */
export type Task = (payload: Record<string, string>, control?: JobControl) => Promise<void>

/** Handlers by the names of their tasks. */
export type Tasks = Record<string, Task>

/** A job that takes longer counts as failed, so that its slot is free for another one. */
export const JOB_MAX_MS = 5 * MINUTE

/** The jobs of a transaction. */
export type TransactionJobs = {
  queue: JobQueue
  /** Hands over the jobs that need no queue. Called after the commit. */
  commit(): void
}

export interface JobQueue {
  /** Enqueues inside the caller's transaction: the jobs exist if and only if that commits. */
  enqueue(db: Database, jobs: Job[]): Promise<void>
  /** Returns a queue for what a transaction enqueues. */
  forTransaction(): TransactionJobs
}

/** A queue whose jobs this process can execute. */
export interface WorkQueue extends JobQueue {
  /** Starts working on jobs in this process. Calls `onStuck` if that becomes impossible and only a restart may help. */
  start(tasks: Tasks, onStuck?: () => void): Promise<void>
  /** Stops taking jobs and waits at most `graceMs` for those in progress. */
  stop(graceMs?: number): Promise<void>
}
