import { ConflictError, ForbiddenError } from '../../../platform/errors.ts'
import { newId } from '../../../platform/ids.ts'
import { addMs, DAY } from '../../../platform/time.ts'
import { includesRole, type Role } from '../../../scope/dependencies.ts'
import type { Scope } from '../../../scope/scope.ts'
import type { AuthDependencies } from '../../../trpc/context.ts'
import { assertPerson, type Caller } from '../../../trpc/caller.ts'
import { toTrustedPage } from '../../auth/token-emails.ts'
import type { CreateInvitation, Invitation, InvitationRef } from '../schema.ts'
import { lockMembership, lockStanding } from '../standing.ts'
import { getInvitation } from './queries.ts'

const VALID_MS = 7 * DAY
const PENDING_MAX = 100
/**
 * Invitations are emails to people who did not ask for one. These bound the addresses that a workspace and a member can
 * invite in a day, and the emails that an address gets from all of them.
 */
const ADDRESSES_PER_DAY_MAX = 200
const EMAILS_PER_DAY_MAX = 5

type Context = { scope: Scope; auth: Pick<AuthDependencies, 'pageOrigins'>; caller: Caller }
type Existing = { id: string; role: Role; isPending: boolean; emailCount: number; emailsSince: Date }

/**
 * Invites an address, or again: the former token becomes invalid and another email is sent. The answer does not reveal if
 * there is an account with the address, of which only a worker sends an email.
 * @throws InvalidError, ForbiddenError; ConflictError `already_member`, `too_many_invitations`
 */
export function createInvitation({ scope, auth, caller }: Context, input: CreateInvitation): Promise<Invitation> {
  const { email, role } = input
  const page = toTrustedPage(input.redirectTo, auth.pageOrigins)
  return scope.transaction(async (tx) => {
    await assertMayInvite(tx, caller, role)
    await assertNoMember(tx, email)
    const existing = await findExisting(tx, email)
    if (existing?.isPending) await assertMayInvite(tx, caller, existing.role)
    const now = tx.now()
    await assertFits(tx, existing)
    const { user } = assertPerson(caller)
    await assertFewEmails(tx, { email, inviterId: user.id })
    const isSameDay = existing && existing.emailsSince > addMs(now, -DAY)
    const emailCount = isSameDay ? existing.emailCount + 1 : 1
    const invitationId = existing?.id ?? newId()
    tx.audit?.addTargets('invitation', [invitationId])
    await tx.sql('storeInvitation')`
      insert into invitations (id, workspace_id, email, role, status, invited_by, page, email_count, emails_since, due_at,
        created_at, invited_at, expires_at)
      values (${invitationId}, ${tx.tenantId}, ${email}, ${role}, 'pending', ${user.id},
        ${page}, ${emailCount}, ${isSameDay ? existing.emailsSince : now}, ${now}, ${now}, ${now},
        ${addMs(now, VALID_MS)})
      on conflict (workspace_id, email) do update set role = excluded.role, status = excluded.status,
        invited_by = excluded.invited_by, token_hash = null, page = excluded.page, email_count = excluded.email_count,
        emails_since = excluded.emails_since, attempts = 0, due_at = excluded.due_at, invited_at = excluded.invited_at,
        expires_at = excluded.expires_at`
    await tx.record({ type: 'invitation.created', data: { invitationId } })
    return getInvitation(tx, { invitationId })
  })
}

/**
 * Revokes an invitation, whose token becomes invalid at once.
 * @throws NotFoundError, ForbiddenError; ConflictError `invitation_accepted`
 */
export function revokeInvitation(
  { scope, caller }: Pick<Context, 'scope' | 'caller'>,
  { invitationId }: InvitationRef,
): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await lockMembership(tx)
    const { id, role, status } = await getInvitation(tx, { invitationId })
    tx.audit?.addTargets('invitation', [id])
    await assertMayInvite(tx, caller, role)
    const revoked = await tx.sql('revokeInvitation')`
      update invitations set status = 'revoked', due_at = null
      where workspace_id = ${tx.tenantId} and id = ${invitationId} and status = 'pending' returning 1`
    if (revoked.length > 0) await tx.record({ type: 'invitation.revoked', data: { invitationId } })
    else if (status !== 'revoked') {
      throw new ConflictError('invitation_accepted', 'The invitation was accepted. Remove the member instead')
    }
    return {}
  })
}

/** Checks the rights of the caller under the lock of the members. @throws ForbiddenError */
async function assertMayInvite(tx: Scope, caller: Caller, role: Role): Promise<void> {
  const { user } = assertPerson(caller)
  const { actorRole } = await lockStanding(tx, { actorId: user.id, userId: user.id })
  if (!includesRole(actorRole, 'admin') || !includesRole(actorRole, role)) throw new ForbiddenError()
}

/** @throws ConflictError `already_member`, which tells no more than the list of members */
async function assertNoMember(tx: Scope, email: string): Promise<void> {
  const members = await tx.sql('findMemberByEmail')`
    select from memberships m join users u on u.id = m.user_id where m.workspace_id = ${tx.tenantId} and u.email = ${email}`
  if (members.length === 0) return
  throw new ConflictError('already_member', 'This address is that of a member. Change the role of the member instead')
}

async function findExisting(tx: Scope, email: string): Promise<Existing | undefined> {
  const [existing] = await tx.sql<Existing>('findExistingInvitation')`
    select id, role, status = 'pending' and expires_at > ${tx.now()} as is_pending, email_count, emails_since
    from invitations where workspace_id = ${tx.tenantId} and email = ${email}`
  return existing
}

/** @throws ConflictError `too_many_invitations` */
async function assertFits(tx: Scope, existing: Existing | undefined): Promise<void> {
  const [row] = await tx.sql<{ pending: number; today: number }>('countInvitations')`
    select count(*) filter (where status = 'pending' and expires_at > ${tx.now()})::int as pending,
      count(*) filter (where invited_at > ${addMs(tx.now(), -DAY)})::int as today
    from invitations where workspace_id = ${tx.tenantId} and id is distinct from ${existing?.id ?? null}`
  const { pending = 0, today = 0 } = row ?? {}
  if (pending >= PENDING_MAX) {
    throw tooManyError(`A workspace has at most ${PENDING_MAX} pending invitations. Revoke those that are not needed`)
  }
  if (today >= ADDRESSES_PER_DAY_MAX) {
    throw tooManyError(`A workspace invites at most ${ADDRESSES_PER_DAY_MAX} addresses within a day`)
  }
}

/** Counts those of all workspaces, of which a person may have several. @throws ConflictError `too_many_invitations` */
async function assertFewEmails(tx: Scope, { email, inviterId }: { email: string; inviterId: string }): Promise<void> {
  // Those of other workspaces are counted one after the other, too.
  for (const subject of [`inviter ${inviterId}`, `invited ${email}`])
    await tx.sql('lockInvitationCount')`select pg_advisory_xact_lock(hashtextextended(${subject}, 0))`
  const since = addMs(tx.now(), -DAY)
  const [row] = await tx.sql<{ emails: number; invited: number }>('countInvitationEmails')`
    select (select coalesce(sum(email_count), 0)::int from invitations where email = ${email} and emails_since > ${since}) as emails,
      (select count(*)::int from invitations where invited_by = ${inviterId} and invited_at > ${since}) as invited`
  const { emails = 0, invited = 0 } = row ?? {}
  if (emails >= EMAILS_PER_DAY_MAX)
    throw tooManyError(`This address was sent ${EMAILS_PER_DAY_MAX} emails within a day. Invite it again tomorrow`)
  if (invited >= ADDRESSES_PER_DAY_MAX)
    throw tooManyError(`A member invites at most ${ADDRESSES_PER_DAY_MAX} addresses within a day`)
}

function tooManyError(message: string): ConflictError {
  return new ConflictError('too_many_invitations', message)
}
