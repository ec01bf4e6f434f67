import { addMs, MINUTE } from '../../../platform/time.ts'
import type { Role, SystemScope } from '../../../scope.ts'
import type { Session, User } from '../../../trpc/context.ts'

/** The time that a replaced token works after the first use of its successor, as concurrent requests arrive in any order. */
export const GRACE_MS = MINUTE

/** A session as seen by the token of the request. */
export type FoundSession = {
  session: Session
  user: User
  role: Role | null
  /** False for a replaced token that is still accepted. */
  isCurrent: boolean
  hasPrevious: boolean
  /** The time at which the current token was issued. */
  renewedAt: Date
  /** The time at which the current token was first used, after which the previous one expires. */
  confirmedAt: Date | null
}

type Row = Session &
  Pick<User, 'email' | 'name' | 'image' | 'emailVerified' | 'updatedAt'> &
  Omit<FoundSession, 'session' | 'user'> & { userCreatedAt: Date }

const FIND = `
  select s.id, s.user_id as "userId", s.created_at as "createdAt", s.expires_at as "expiresAt",
    s.ip_address as "ipAddress", s.user_agent as "userAgent",
    s.token_hash = :tokenHash as "isCurrent", s.previous_token_hash is not null as "hasPrevious",
    s.renewed_at as "renewedAt", s.confirmed_at as "confirmedAt",
    u.email, u.name, u.image, u.email_verified as "emailVerified",
    u.created_at as "userCreatedAt", u.updated_at as "updatedAt", m.role
  from sessions s
  join users u on u.id = s.user_id
  left join memberships m on m.user_id = s.user_id and m.workspace_id = :workspaceId
  where s.expires_at > :now
    and (s.token_hash = :tokenHash
      or s.previous_token_hash = :tokenHash and (s.confirmed_at is null or s.confirmed_at > :graceStart))`

/** Loads session, user and role in the workspace with one statement; undefined for a token that is not valid. */
export async function findSession(
  system: SystemScope,
  { tokenHash, workspaceId }: { tokenHash: Buffer; workspaceId: string | null },
): Promise<FoundSession | undefined> {
  const now = system.now()
  const { rows } = await system.db.raw<{ rows: Row[] }>(FIND, {
    tokenHash,
    workspaceId,
    now,
    graceStart: addMs(now, -GRACE_MS),
  })
  const [row] = rows
  if (!row) return undefined
  const { id, userId, createdAt, expiresAt, ipAddress, userAgent } = row
  const { email, name, image, emailVerified, userCreatedAt, updatedAt } = row
  const { role, isCurrent, hasPrevious, renewedAt, confirmedAt } = row
  return {
    session: { id, userId, createdAt, expiresAt, ipAddress, userAgent },
    user: { id: userId, email, name, image, emailVerified, createdAt: userCreatedAt, updatedAt },
    role,
    isCurrent,
    hasPrevious,
    renewedAt,
    confirmedAt,
  }
}
