import type { Logger } from '../platform/log.ts'
import type { AppError } from '../platform/errors.ts'
import type { Passwords } from '../platform/security/passwords.ts'
import type { Lockout } from '../platform/rate-limit/lockout.ts'
import type { Revocations } from '../platform/notifications/revocations.ts'
import type { Role, Scope, SystemScope } from '../scope.ts'

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

/** Who is calling, and whether the workspace they name lets them in. Resolved once, before any procedure runs. */
export type Caller = {
  session: Session
  user: User
  /** `missing`: no workspace was named. `refused`: the one named is malformed, unknown or not theirs. */
  workspace: { id: string; role: Role } | 'missing' | 'refused'
}

/** What signing in needs beside the database, and keeps for the life of the process. */
export type AuthDependencies = {
  passwords: Passwords
  lockout: Lockout
  revocations: Revocations
  /** Why somebody who was let in would not be let in any more: the session is over, or the membership. */
  refusalOf(caller: Caller): Promise<AppError | undefined>
  appOrigins: ReadonlySet<string>
}

/** What the transport knows of a request, and nothing of the transport. */
export type RequestContext = {
  requestId: string
  system: SystemScope
  auth: AuthDependencies
  log: Logger
  caller: Caller | null
  /** The session token as it was presented, for ending that session. */
  sessionToken: string | null
  client: { ipAddress: string; addressKey: string; userAgent: string | null }
  idempotencyKey: string | null
  /** Adds a header to the answer. */
  setHeader(name: string, value: string): void
  /** Opens the calling workspace's scope; procedures of a workspace receive the result as `ctx.scope`. */
  openScope(caller: Caller, workspace: { id: string; role: Role }): Scope
}
