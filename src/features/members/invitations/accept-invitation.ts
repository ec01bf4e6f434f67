import { ConflictError, UnprocessableError } from '../../../platform/errors.ts'
import { hashToken, isToken } from '../../../platform/security/tokens.ts'
import type { Role } from '../../../scope/dependencies.ts'
import type { AuditEntry } from '../../../scope/audit-entry.ts'
import type { Scope } from '../../../scope/scope.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import type { UserCaller } from '../../../trpc/caller.ts'
import { verifyEmail } from '../../auth/verify-email.ts'
import type { AcceptInvitation, JoinedWorkspace } from '../schema.ts'
import { lockMembership } from '../standing.ts'

/** Some lists return all members. */
const MEMBERS_MAX = 1000

type Invitation = { id: string; role: Role; isOpen: boolean; workspaceName: string; memberRole: Role | null }

/**
 * Makes the caller a member of the workspace that invited the address of the account. The token was emailed to this
 * address only, so it verifies it. Accepting again has no effect, and
 * neither has the invitation of a member. One error stands for every token that does not work, so that nobody learns
 * which addresses are invited.
 * @throws UnprocessableError `invitation_invalid`; ConflictError `too_many_members`
 */
export async function acceptInvitation(
  { system, caller, audit }: { system: SystemScope; caller: UserCaller; audit: AuditEntry },
  { token }: AcceptInvitation,
): Promise<JoinedWorkspace> {
  if (!isToken(token)) throw invalidError()
  const tokenHash = hashToken(token)
  const { id: userId, email, name: userName } = caller.user
  const [found] = await system.sql<{ workspaceId: string }>('findInvitation')`
    select workspace_id from invitations where token_hash = ${tokenHash} and email = ${email.toLowerCase()}`
  if (!found) throw invalidError()
  const { workspaceId } = found
  const actor = { type: 'user', id: userId, name: userName } as const
  const joined = await system.forTenant(workspaceId, actor, { audit }).transaction(async (tx) => {
    await lockMembership(tx)
    const { id, name, memberRole, role, isOpen } = await readInvitation(tx, { tokenHash, userId })
    if (!isOpen && memberRole === null) throw invalidError()
    audit.addTargets('member', [userId])
    audit.addTargets('invitation', [id])
    if (!isOpen) audit.drop()
    if (isOpen) {
      if (memberRole === null) await addMember(tx, { userId, role })
      await tx.sql('closeInvitation')`
        update invitations set status = 'accepted', due_at = null where workspace_id = ${tx.tenantId} and id = ${id}`
      await verifyEmail(tx, userId)
    }
    return { id: workspaceId, name, role: memberRole ?? role }
  })
  // Cached sessions of the user do not know of the verified address.
  if (!caller.user.emailVerified) system.notifications.publish('revocations', userId)
  return joined
}

/** Reads the invitation under the lock of the members. @throws UnprocessableError `invitation_invalid` */
async function readInvitation(
  tx: Scope,
  { tokenHash, userId }: { tokenHash: Buffer; userId: string },
): Promise<Omit<Invitation, 'workspaceName'> & { name: string }> {
  const [invitation] = await tx.sql<Invitation>('readInvitation')`
    select i.id, i.role, i.status = 'pending' and i.expires_at > ${tx.now()} as is_open,
      w.name as workspace_name, m.role as member_role
    from invitations i join workspaces w on w.id = i.workspace_id
    left join memberships m on m.workspace_id = i.workspace_id and m.user_id = ${userId}
    where i.workspace_id = ${tx.tenantId} and i.token_hash = ${tokenHash}`
  if (!invitation) throw invalidError()
  const { workspaceName: name, ...rest } = invitation
  return { ...rest, name }
}

/** @throws ConflictError `too_many_members` */
async function addMember(tx: Scope, { userId, role }: { userId: string; role: Role }): Promise<void> {
  const [row] = await tx.sql<{ count: number }>('countMembers')`
    select count(*)::int as count from memberships where workspace_id = ${tx.tenantId}`
  if ((row?.count ?? 0) >= MEMBERS_MAX) {
    throw new ConflictError(
      'too_many_members',
      `A workspace has at most ${MEMBERS_MAX} members. Ask for one to be removed`,
    )
  }
  await tx.sql('addMember')`
    insert into memberships (workspace_id, user_id, role, created_at)
    values (${tx.tenantId}, ${userId}, ${role}, ${tx.now()})`
  await tx.record({ type: 'member.joined', data: { userId } })
}

function invalidError(): UnprocessableError {
  return new UnprocessableError(
    'invitation_invalid',
    'This invitation does not work: it was revoked, has expired or is for another email address. Sign in with the address that was invited, or ask for another invitation',
  )
}
