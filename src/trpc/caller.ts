import { ForbiddenError } from '../platform/errors.ts'
import type { Role } from '../scope/dependencies.ts'
import type { ApiScope } from './api-scopes.ts'

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
  twoFactorEnabled: boolean
  createdAt: Date
  updatedAt: Date
}

/** A person with a session, and their role in the workspace that the request names. */
export type UserCaller = {
  session: Session
  user: User
  /** `missing`: no workspace was named. `refused`: the named one is malformed, unknown or without this member. */
  workspace: { id: string; role: Role } | 'missing' | 'refused'
}

/** Rights of an API key. */
export type KeyAccess = {
  id: string
  workspaceId: string
  name: string
  /** The hash of the secret that the request has, of which a key has two while it is rotated. */
  hash: Buffer
  grants: string[]
  scopes: ReadonlySet<ApiScope>
  /** Networks that the key may be used from. Null: any. */
  ipRanges: string[] | null
  /** Channels that the key may send on. Null: all. */
  channelIds: string[] | null
  limitPerMinute: number
  expiresAt: Date | null
}

/** A program with an API key. Its workspace is that of the key; `refused`: the request names another one. */
export type KeyCaller = { key: KeyAccess; workspace: { id: string } | 'refused' }

/** A member or an API key. Resolved once, before any procedure runs. */
export type Caller = UserCaller | KeyCaller

/** Returns the member that calls. @throws ForbiddenError for an API key, which the procedures for people refuse before */
export function assertPerson(caller: Caller): UserCaller {
  if ('key' in caller) throw new ForbiddenError()
  return caller
}

/** Returns the ID of the user or key, which tells callers apart and under which their access is revoked. */
export function callerId(caller: Caller): string {
  return 'key' in caller ? caller.key.id : caller.user.id
}
