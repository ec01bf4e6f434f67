import { MINUTE } from '../time.ts'

/**
 * A wake-up for a worker, which carries no data. Our own tables are the source of truth, so a job may be lost, duplicated
 * or late without harm: its handler looks up what is due. Waiting jobs of a task with the same key are merged into one.
 */
export type Job = {
  task: string
  tenantId: string
  /** The ID of what has work: a workspace, a channel or a conversation. */
  key: string
}

/** A place among the jobs of this process, kept for work that a transaction prepares. The first call of the two counts. */
export type JobPlace = {
  /** Does the work in the place, after the commit. */
  take(work: Work): void
  /** Gives the place up. */
  leave(): void
}

export type Work = () => Promise<void>

export type JobControl = {
  /** Aborts when the process stops: a long task should then end early. */
  signal?: AbortSignal | undefined
  /** Lets the next job start before this one, which only waits for another system, has ended. */
  release?: (() => void) | undefined
  /**
   * Starts works that wait for other systems, each in a place of its own until it has ended, in exchange for that of the
   * job. `claim` returns at most as many as the workspace may have. Returns true if there may be more.
   */
  spread?: ((claim: (limit: number) => Promise<Work[]>) => Promise<boolean>) | undefined
  /** Resolves when no job of a task that comes first is at work here, or this one has waited for long. */
  giveWay?: (() => Promise<void> | undefined) | undefined
  /** Keeps a place for the work of another job, if this process may do it now. */
  reserve?: ((job: Job) => JobPlace | undefined) | undefined
}

/** Handler of a task. */
export type Task = (job: Job, control?: JobControl) => Promise<void>

/** Handlers by the names of their tasks. */
export type Tasks = Record<string, Task>

/** A job that takes longer counts as failed, so that its slot is free for another one. */
export const JOB_MAX_MS = 5 * MINUTE

export interface JobQueue {
  /** Does not wait until the jobs are in the queue. Called after the commit of what they are to find. */
  enqueue(jobs: readonly Job[]): void
}

/** Returns a queue that keeps the jobs of a transaction for its end. */
export function collectJobs(): JobQueue & { collected: Job[] } {
  const collected: Job[] = []
  return { collected, enqueue: (jobs) => void collected.push(...jobs) }
}

/** A queue whose jobs this process can execute. */
export interface WorkQueue extends JobQueue {
  /** Starts working on jobs in this process. Calls `onStuck` if that becomes impossible and only a restart may help. */
  start(tasks: Tasks, onStuck?: () => void): Promise<void>
  /** Stops taking jobs and waits at most `graceMs` for those in progress. */
  stop(graceMs?: number): Promise<void>
}
