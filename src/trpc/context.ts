import type { Logger } from '../platform/log.ts'
import type { Passwords } from '../platform/security/passwords.ts'
import type { Lockout } from '../platform/rate-limit/lockout.ts'
import type { RateLimits } from '../platform/rate-limit/rate-limits.ts'
import type { Role } from '../scope/dependencies.ts'
import type { AuditEntry } from '../scope/audit-entry.ts'
import type { Scope } from '../scope/scope.ts'
import type { SystemScope } from '../scope/system-scope.ts'
import type { AccessChecks } from './access-checks.ts'
import type { BatchBudget } from './batch-budget.ts'
import type { Caller, KeyCaller, UserCaller } from './caller.ts'

/** The long-lived objects that authentication needs beside the database. */
export type AuthDependencies = {
  passwords: Passwords
  lockout: Lockout
  accessChecks: AccessChecks
  /** Returns the role of a user in a workspace; null without one. */
  findRole(userId: string, workspaceId: string): Promise<Role | null>
  /** Origins of the pages that emails may link to. */
  pageOrigins: ReadonlySet<string>
}

export type Transport = 'rest' | 'trpc'

/** A request as procedures see it, of either transport. */
export type RequestContext = {
  requestId: string
  system: SystemScope
  auth: AuthDependencies
  log: Logger
  caller: UserCaller | null
  /** The API key of the request. A request with one has no session. */
  key: KeyCaller | null
  /** The session token of the request, for ending that session, also if it has an API key. */
  sessionToken: string | null
  /** The cookie of a sign-in that waits for its second factor. */
  twoFactorToken: string | null
  client: { ipAddress: string; addressKey: string; userAgent: string | null }
  idempotencyKey: string | null
  chargeKeyedAnswer: RateLimits['chargeKeyedAnswer']
  /**
   * Takes one of the bounded slots of files that are received, and returns the function that frees it.
   * @throws UnavailableError
   */
  takeUpload(caller: Caller, workspaceId: string): () => void
  /** REST answers with JSON, which has no dates; tRPC with the format of superjson. */
  transport: Transport
  /** Bounds the answers of a batch; null for a single call. */
  batch: BatchBudget | null
  /** Sets a header of the answer. */
  setHeader(name: string, value: string): void
  /**
   * Opens the scope of the caller's workspace; procedures of a workspace receive it as `ctx.scope`. `signal` cancels its
   * statements, and its transactions write `audit`.
   */
  openScope(caller: Caller, workspaceId: string, signal: AbortSignal | undefined, audit?: AuditEntry): Scope
}
