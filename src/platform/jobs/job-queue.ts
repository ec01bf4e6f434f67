import type { Database } from '../database/database.ts'

/**
 * A bell says "there is something to do here". What is to be done stands in our own tables, so a bell may be lost,
 * doubled or late without harm; whoever answers it looks for himself. Bells of one key that were not yet answered are one.
 */
export type Job = { task: string; key: string; payload: Record<string, string> }

export type Tasks = Record<string, (payload: Record<string, string>) => Promise<void>>

export interface JobQueue {
  /** Rings inside the caller's transaction: the bell is heard if and only if that commits. */
  enqueue(db: Database, bells: Job[]): Promise<void>
  /** Starts answering bells in this process. */
  start(tasks: Tasks): Promise<void>
  /** Lets what is in flight finish, then stops answering. */
  stop(): Promise<void>
}
