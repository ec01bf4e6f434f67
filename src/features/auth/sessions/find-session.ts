import { addMs, MINUTE } from '../../../platform/time.ts'
import { OPEN_MEMBERSHIPS } from '../../../scope/deleted-workspaces.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import type { Role } from '../../../scope/dependencies.ts'
import type { Session, User } from '../../../trpc/caller.ts'
import { isTwoFactorEnabledSql } from '../two-factors.ts'

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
  Pick<User, 'email' | 'name' | 'image' | 'emailVerified' | 'twoFactorEnabled' | 'updatedAt'> &
  Omit<FoundSession, 'session' | 'user'> & { userCreatedAt: Date }

/** Loads session, user and role in the workspace with one statement; undefined for a token that is not valid. */
export async function findSession(
  system: SystemScope,
  { tokenHash, workspaceId }: { tokenHash: Buffer; workspaceId: string | null },
): Promise<FoundSession | undefined> {
  const now = system.now()
  const [row] = await system.sql<Row>('findSession')`
    select s.id, s.user_id, s.created_at, s.expires_at, s.ip_address, s.user_agent,
      s.token_hash = ${tokenHash} as is_current, s.previous_token_hash is not null as has_previous,
      s.renewed_at, s.confirmed_at, u.email, u.name, u.image, u.email_verified,
      u.created_at as user_created_at, u.updated_at, m.role, ${isTwoFactorEnabledSql} as two_factor_enabled
    from sessions s
    join users u on u.id = s.user_id
    left join ${OPEN_MEMBERSHIPS} on m.user_id = s.user_id and m.workspace_id = ${workspaceId}
    where s.expires_at > ${now} and (s.token_hash = ${tokenHash} or s.previous_token_hash = ${tokenHash}
      and (s.confirmed_at is null or s.confirmed_at > ${addMs(now, -GRACE_MS)}))`
  if (!row) return undefined
  const { id, userId, createdAt, expiresAt, ipAddress, userAgent } = row
  const { email, name, image, emailVerified, twoFactorEnabled, userCreatedAt, updatedAt } = row
  const { role, isCurrent, hasPrevious, renewedAt, confirmedAt } = row
  return {
    session: { id, userId, createdAt, expiresAt, ipAddress, userAgent },
    user: { id: userId, email, name, image, emailVerified, twoFactorEnabled, createdAt: userCreatedAt, updatedAt },
    role,
    isCurrent,
    hasPrevious,
    renewedAt,
    confirmedAt,
  }
}
