import type { Logger } from '../platform/log.ts'
import type { Passwords } from '../platform/security/passwords.ts'
import type { Lockout } from '../platform/rate-limit/lockout.ts'
import type { Role, Scope, SystemScope } from '../scope.ts'
import type { AccessChecks } from './access-checks.ts'
import type { BatchBudget } from './batch-budget.ts'

export type Session = {
  id: string
  userId: string
  createdAt: Date
  expiresAt: Date
  ipAddress: string | null
  userAgent: string | null
}

export type User = {
  id: string
  email: string
  name: string
  image: string | null
  emailVerified: boolean
  createdAt: Date
  updatedAt: Date
}

/** The caller and their role in the workspace that the request names. Resolved once, before any procedure runs. */
export type Caller = {
  session: Session
  user: User
  /** `missing`: no workspace was named. `refused`: the named one is malformed, unknown or without this member. */
  workspace: { id: string; role: Role } | 'missing' | 'refused'
}

/** The long-lived objects that authentication needs beside the database. */
export type AuthDependencies = {
  passwords: Passwords
  lockout: Lockout
  accessChecks: AccessChecks
  appOrigins: ReadonlySet<string>
}

export type Transport = 'rest' | 'trpc'

/** A request as procedures see it, of either transport. */
export type RequestContext = {
  requestId: string
  system: SystemScope
  auth: AuthDependencies
  log: Logger
  caller: Caller | null
  /** The session token of the request, for ending that session. */
  sessionToken: string | null
  client: { ipAddress: string; addressKey: string; userAgent: string | null }
  idempotencyKey: string | null
  /** REST answers with JSON, which has no dates; tRPC with the format of superjson. */
  transport: Transport
  /** Bounds the answers of a batch; null for a single call. */
  batch: BatchBudget | null
  /** Sets a header of the answer. */
  setHeader(name: string, value: string): void
  /**
   * Opens the scope of the caller's workspace; procedures of a workspace receive it as `ctx.scope`. `signal` cancels its
   * statements.
   */
  openScope(caller: Caller, workspace: { id: string; role: Role }, signal: AbortSignal | undefined): Scope
}
