import type { Role } from '../app-process.ts'
import type { ChaosDatabase } from '../database.ts'
import type { Failpoint } from '../failpoints.ts'
import type { LoadGenerator } from '../load-generator.ts'
import type { ProcessPool } from '../process-pool.ts'
import type { Random } from '../random.ts'

/** Kinds of faults, with the descriptions that the help prints. */
export const FAULT_KINDS = {
  kill: 'kills a process or the database, at failpoints around commits, provider calls and webhooks',
  cut: 'resets connections to the database: one, those of a process, all, or one by one over a period',
  partition: 'drops what processes and database send each other, without closing connections',
  freeze: 'freezes a process in a transaction or a call, for less and for more than its leases',
  lock: 'locks a table in share mode, as "create index" does',
  empty: 'empties the table of waiting jobs, again and again over a period',
  skew: 'restarts a process with a clock that is 0.3 to 5 seconds early or late',
  disk: 'fills the disk of the database (needs Linux and root, otherwise it is skipped)',
  node: 'stops a worker node of Citus (only with --citus-url)',
}

export type FaultKind = keyof typeof FAULT_KINDS

type Planned<K extends FaultKind> = {
  kind: K
  /** Seed of the random choices that depend on the state of the system, such as one of its connections. */
  seed: number
  /** Delay before the fault is injected. */
  delayMs: number
}

/** A moment of a process: when it reaches a failpoint or, without one, a random one. */
export type Moment = {
  role: Role
  failpoint: Failpoint | undefined
  /** Number of times the failpoint is passed before it triggers. */
  skip: number
}

/** A kill; for the database, `role` is that of the processes that have to reach the failpoint. */
export type Kill = Planned<'kill'> & Moment & { target: Role | 'database' }
export type Cut = Planned<'cut'> & Moment & { scope: 'one' | 'process' | 'all' | 'repeated'; durationMs: number }
export type Partition = Planned<'partition'> &
  Moment & { scope: 'process' | 'all'; durationMs: number; keepsConnections: boolean }
export type Freeze = Planned<'freeze'> & Moment & { durationMs: number }
export type Lock = Planned<'lock'> & { table: string; durationMs: number }
export type Empty = Planned<'empty'> & { durationMs: number }
export type Skew = Planned<'skew'> & { role: Role; offsetMs: number }
export type Disk = Planned<'disk'> & { durationMs: number }
export type NodeOutage = Planned<'node'> & { index: number; durationMs: number }

/** An entry of the fault plan. */
export type Fault = Kill | Cut | Partition | Freeze | Lock | Empty | Skew | Disk | NodeOutage

export type System = { pool: ProcessPool; database: ChaosDatabase; load: LoadGenerator }

/** The course of a fault. A failpoint that was not reached in time is replaced by a random moment. */
export type FaultResult = {
  isFailpointReached?: boolean
  skipReason?: string
  /** The database server that was killed or stopped. */
  server?: string
  /** Resolves when what was killed is replaced, with the time that this took. */
  replacedMs?: Promise<number>
}

export type Inject<F extends Fault> = (system: System, fault: F, random: Random) => Promise<FaultResult>

const ADD_CUSTOMER_INTERVAL_MS = 500

/** Waits while a fault lasts, and adds customers who write meanwhile. */
export async function lastWithLoad(load: LoadGenerator, durationMs: number): Promise<void> {
  const timer = setInterval(() => load.addCustomer(), ADD_CUSTOMER_INTERVAL_MS)
  await new Promise((resolve) => setTimeout(resolve, durationMs))
  clearInterval(timer)
}
