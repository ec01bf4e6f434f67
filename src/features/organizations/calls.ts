import type { AuditEntry } from '../../scope/audit-entry.ts'
import { includesRole } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { assertPerson, type Caller, type UserCaller } from '../../trpc/caller.ts'
import { listWorkspaces } from '../auth/workspaces.ts'
import { leaveWorkspace, removeMember, updateMember } from '../members/changes.ts'
import { acceptInvitation } from '../members/invitations/accept-invitation.ts'
import { listInvitations } from '../members/invitations/queries.ts'
import { getMember, listMembers } from '../members/queries.ts'
import type { Invitation, Member } from '../members/schema.ts'
import { createOwnWorkspace } from '../workspaces/create-workspace.ts'
import { deleteWorkspace } from '../workspaces/delete-workspace.ts'
import type { Workspace } from '../workspaces/schema.ts'
import { getWorkspace } from '../workspaces/settings.ts'
import type * as schema from './schema.ts'

/**
 * Calls of better-auth's organization plugin in terms of workspaces, members and invitations. Rights, limits and effects are
 * those of the operations that they stand for.
 */
type Context = { scope: Scope; system: SystemScope; caller: Caller }
type SessionContext = { system: SystemScope; caller: UserCaller }

export function toOrganization({
  id,
  name,
  createdAt,
}: Pick<Workspace, 'id' | 'name' | 'createdAt'>): schema.Organization {
  return { id, name, slug: id, logo: null, metadata: null, createdAt }
}

function toMember({ tenantId }: Scope, member: Member): schema.OrganizationMember {
  const { userId, name, email, image, role, joinedAt } = member
  const user = { id: userId, name, email, image }
  return { id: userId, organizationId: tenantId, userId, role, createdAt: joinedAt, user }
}

const STATUSES = { pending: 'pending', accepted: 'accepted', revoked: 'canceled', expired: 'pending' } as const

export function toInvitation({ tenantId }: Scope, invitation: Invitation): schema.OrganizationInvitation {
  const { id, email, role, invitedBy, expiresAt, createdAt } = invitation
  const status = STATUSES[invitation.status]
  return { id, organizationId: tenantId, email, role, status, inviterId: invitedBy.userId, expiresAt, createdAt }
}

export async function listOrganizations({ system, caller }: SessionContext): Promise<schema.Organization[]> {
  return (await listWorkspaces(system, caller.user.id)).map(toOrganization)
}

export async function createOrganization(
  context: SessionContext & { audit: AuditEntry },
  { name }: schema.CreateOrganization,
): Promise<schema.Organization> {
  return toOrganization(await createOwnWorkspace(context, { name }))
}

export async function getFullOrganization({ scope, caller }: Context): Promise<schema.FullOrganization> {
  const { workspace } = assertPerson(caller)
  const isAdmin = typeof workspace === 'object' && includesRole(workspace.role, 'admin')
  const organization = toOrganization(await getWorkspace(scope))
  const { members } = await listOrganizationMembers(scope)
  return { ...organization, members, invitations: isAdmin ? await listOrganizationInvitations(scope) : [] }
}

/** Reads the name that the deletion needs as a confirmation: the call has named the workspace by its ID. */
export async function deleteOrganization(
  context: Context & Parameters<typeof deleteWorkspace>[0],
): Promise<schema.Organization> {
  const workspace = await getWorkspace(context.scope)
  await deleteWorkspace(context, { name: workspace.name })
  return toOrganization(workspace)
}

export async function listOrganizationInvitations(scope: Scope): Promise<schema.OrganizationInvitation[]> {
  return (await listInvitations(scope)).items.map((invitation) => toInvitation(scope, invitation))
}

export async function listOrganizationMembers(scope: Scope): Promise<schema.OrganizationMembers> {
  const { items } = await listMembers(scope)
  return { members: items.map((member) => toMember(scope, member)), total: items.length }
}

export async function getActiveMember({ scope, caller }: Context): Promise<schema.OrganizationMember> {
  return toMember(scope, await getMember(scope, { userId: assertPerson(caller).user.id }))
}

export async function updateMemberRole(
  context: Context,
  { memberId, role }: schema.UpdateMemberRole,
): Promise<schema.OrganizationMember> {
  return toMember(context.scope, await updateMember(context, { userId: memberId, role }))
}

export async function removeOrganizationMember(
  context: Context,
  { memberIdOrEmail }: schema.RemoveOrganizationMember,
): Promise<{ member: schema.OrganizationMember }> {
  const { items } = await listMembers(context.scope)
  const userId = items.find(({ email }) => email === memberIdOrEmail.toLowerCase())?.userId ?? memberIdOrEmail
  const member = toMember(context.scope, await getMember(context.scope, { userId }))
  await removeMember(context, { userId })
  return { member }
}

export async function leaveOrganization(context: Context): Promise<schema.OrganizationMember> {
  const member = await getActiveMember(context)
  await leaveWorkspace(context)
  return member
}

/** An ID proves nothing, so the token of the email is sent in its place. */
export async function acceptOrganizationInvitation(
  context: SessionContext & { audit: AuditEntry },
  { invitationId }: schema.AcceptOrganizationInvitation,
): Promise<schema.AcceptedInvitation> {
  const { id: organizationId, role } = await acceptInvitation(context, { token: invitationId })
  const { id: userId, email } = context.caller.user
  const scope = context.system.forTenant(organizationId)
  const member = toMember(scope, await getMember(scope, { userId }))
  return { invitation: { organizationId, email, role, status: 'accepted' }, member }
}
