import type { DatabaseSource } from '../platform/database/pools/connection-pool.ts'
import type { FileStore } from '../platform/files/file-store.ts'
import type { JobQueue } from '../platform/jobs/job-queue.ts'
import type { Logger } from '../platform/log.ts'
import type { Mailer } from '../platform/mail.ts'
import type { Secrets } from '../platform/security/secrets.ts'
import type { ComputePool } from '../platform/compute/compute-pool.ts'
import type { ExpiringCache } from '../platform/concurrency/expiring-cache.ts'
import type { SharedObjects } from '../platform/concurrency/shared-objects.ts'
import type { SingleFlight } from '../platform/concurrency/batcher.ts'
import type { DiskSpace } from '../platform/files/disk-space.ts'
import type { Notifications } from '../platform/notifications/notifications.ts'
import type { Clock } from '../platform/time.ts'
import type { FindSpan, Span } from '../platform/tracing/span.ts'
import type { Tracing } from '../platform/tracing/tracing.ts'
import type { Event } from './event-types.ts'
import type { AuditEntry } from './audit-entry.ts'
import type { DeletedWorkspaces } from './deleted-workspaces.ts'

/** The roles of members. Each includes those before it. */
export const ROLES = ['viewer', 'agent', 'admin', 'owner'] as const
export type Role = (typeof ROLES)[number]

/** Returns true if a role includes another one. */
export function includesRole(role: Role, other: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(other)
}

/**
 * The user, API key, run or system that acts; it is recorded as the sender of a message and the starter of a run.
 * `network` is that of the client; it is not recorded. A key sends on the channels `channelIds` only, if it has any.
 */
export type Actor =
  | { type: 'user'; id: string; name: string; network?: string }
  | {
      type: 'key'
      id: string
      name: string
      scopes: ReadonlySet<string>
      channelIds: string[] | null
      network?: string
    }
  | { type: 'run'; id: string; name: null }
  | { type: 'system'; id: null; name: null }

/** Returns the ID of the member or API key that acts; null for runs and the system. */
export function findMemberId({ type, id }: Actor): string | null {
  return type === 'user' || type === 'key' ? id : null
}

/** Returns who sends a message or note that no workflow sends. */
export function toSender(actor: Actor): { type: 'user' | 'key' | 'system'; id: string | null; name: string | null } {
  return actor.type === 'user' || actor.type === 'key'
    ? { type: actor.type, id: actor.id, name: actor.name }
    : { type: 'system', id: null, name: null }
}

/** Rows of a statement, whose time limit is 10 seconds, or of a transaction that deletes many. */
export type Portions = {
  /** Rows of a statement that deletes a history. Each takes others with it by foreign keys. */
  history: number
  /** The same of a transaction for which customers wait, and of each that purges a deleted contact. */
  historyStep: number
  /** Rows of a transaction of the retention. Each takes others with it. */
  retention: number
  /** Rows of a statement of a purge. */
  purge: number
  /** Rows of a kind that a report of the usage counts. */
  usage: number
}

export const PORTIONS: Readonly<Portions> = {
  history: 10_000,
  historyStep: 1_000,
  retention: 1_000,
  purge: 5_000,
  usage: 5_000_000,
}

/** The long-lived objects that every scope needs. */
export type Dependencies = {
  /** The connections of this kind of work. */
  connections: DatabaseSource
  clock: Clock
  log: Logger
  /** Undefined if no traces are exported. */
  tracing: Tracing | undefined
  jobs: JobQueue
  notifications: Pick<Notifications, 'publish' | 'subscribe'>
  singleFlight: SingleFlight
  shared: SharedObjects
  cache: ExpiringCache
  deletedWorkspaces: DeletedWorkspaces
  secrets: Secrets
  mail: Mailer
  computePool: Pick<ComputePool, 'run'>
  files: FileStore
  /** Folder of files that are being received, its disk, and the bytes that one workspace may store, or Infinity. */
  uploads: { folder: string; disk: Pick<DiskSpace, 'isLow'>; mediaBytesMax: number }
  portions: Portions
  /** True if URLs that customers enter, such as a provider's, may use loopback addresses. */
  allowsLoopback: boolean
}

/** Work that a transaction leaves for its end. */
export type Ending = {
  /** Events to write. */
  events: Event[]
  /** Keys of cached reads whose results the transaction changes. */
  outdatedKeys: string[]
  /** True if other tenants use the same transaction of the database. */
  isShared: boolean
}

export type ScopeOptions = {
  /** Cancels the statements of the scope. */
  signal?: AbortSignal | undefined
  /** Work for the end of the outermost transaction; undefined outside of a transaction. */
  ending?: Ending
  /** The audit event of the call, which each outermost transaction writes. */
  audit?: AuditEntry | undefined
  /** The span of the request. */
  span?: Span | undefined
  /** Finds the span that new work belongs to, if there is none of a request. */
  findSpan?: FindSpan | undefined
}

export type TransactionOptions = {
  /** The longest wait for a lock, by default until the statement is canceled. */
  lockTimeoutMs?: number
  /** Number of items of short work without inner transactions, which may share a transaction with that of other tenants. */
  size?: number
  /** Finds the span that new work of the transaction belongs to, by default that of the request. */
  findSpan?: FindSpan | undefined
}
