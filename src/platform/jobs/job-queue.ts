import type { Database } from '../database/database.ts'

/**
 * A wake-up for a worker. Our own tables are the source of truth, so a job may be lost, duplicated or late without harm:
 * its handler looks up what is due. Waiting jobs with the same key are merged into one.
 */
export type Job = { task: string; key: string; payload: Record<string, string> }

/** Handlers by the names of their tasks. `signal` aborts when the process stops: a long task should then end early. */
export type Tasks = Record<string, (payload: Record<string, string>, signal?: AbortSignal) => Promise<void>>

export interface JobQueue {
  /** Enqueues inside the caller's transaction: the jobs exist if and only if that commits. */
  enqueue(db: Database, jobs: Job[]): Promise<void>
  /** Starts working on jobs in this process. Calls `onStuck` if that becomes impossible and only a restart may help. */
  start(tasks: Tasks, onStuck?: () => void): Promise<void>
  /** Stops taking jobs and waits at most `graceMs` for those in progress. */
  stop(graceMs?: number): Promise<void>
}
