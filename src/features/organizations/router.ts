import { definedFields } from '../../platform/fields.ts'
import { startAudit } from '../../trpc/audit.ts'
import {
  organizationAdminProcedure,
  organizationOwnerProcedure,
  organizationViewerProcedure,
  router,
  sessionProcedure,
} from '../../trpc/procedures.ts'
import { type Method, rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { createInvitation, revokeInvitation } from '../members/invitations/changes.ts'
import { getInvitation } from '../members/invitations/queries.ts'
import { updateWorkspace } from '../workspaces/settings.ts'
import * as calls from './calls.ts'
import * as schema from './schema.ts'

const ACTION_OF_CREATE = 'workspaces.create'
const ACTION_OF_ACCEPT = 'invitations.accept'

/** Mounts a call of better-auth's organization plugin, an alias of another operation, which `action` names. It is for people. */
function alias(
  method: Method,
  name: string,
  summary: string,
  operation: string,
  { action, isOfSession = false }: { action?: string; isOfSession?: boolean } = {},
) {
  return rest(method, `/auth/organization/${name}`, `${summary} (better-auth)`, {
    tier: 'auth',
    scope: null,
    description: `An alias of \`${operation}\` for clients of better-auth, with the same rights and effects.`,
    ...(action === undefined ? {} : { action }),
    ...(isOfSession ? { withoutWorkspace: true } : {}),
  })
}

/** Procedures of the namespace `auth` about workspaces, members and invitations, under the paths of better-auth. */
export const organizationsRouter = router({
  createOrganization: sessionProcedure
    .meta(
      alias('POST', 'create', 'Create a workspace', 'POST /api/workspaces', {
        action: ACTION_OF_CREATE,
        isOfSession: true,
      }),
    )
    .input(schema.CreateOrganization)
    .output(schema.Organization)
    .mutation(({ ctx, input }) =>
      calls.createOrganization({ ...ctx, audit: startAudit(ctx, ACTION_OF_CREATE) }, input),
    ),

  listOrganizations: sessionProcedure
    .meta(
      alias('GET', 'list', 'List the workspaces of the account', 'GET /api/auth/get-session', { isOfSession: true }),
    )
    .input(omittable(empty.strict()))
    .output(schema.Organization.array())
    .query(({ ctx }) => calls.listOrganizations(ctx)),

  getFullOrganization: organizationViewerProcedure
    .meta(alias('GET', 'get-full-organization', 'Get a workspace with its members', 'GET /api/workspace'))
    .input(omittable(schema.OrganizationRef))
    .output(schema.FullOrganization)
    .query(({ ctx }) => calls.getFullOrganization(ctx)),

  updateOrganization: organizationAdminProcedure
    .meta(alias('POST', 'update', 'Rename a workspace', 'PATCH /api/workspace', { action: 'workspace.update' }))
    .input(schema.UpdateOrganization)
    .output(schema.Organization)
    .mutation(async ({ ctx, input: { data } }) =>
      calls.toOrganization(await updateWorkspace(ctx.scope, definedFields({ name: data.name }))),
    ),

  deleteOrganization: organizationOwnerProcedure
    .meta(alias('POST', 'delete', 'Delete a workspace', 'DELETE /api/workspace', { action: 'workspace.delete' }))
    .input(schema.DeleteOrganization)
    .output(schema.Organization)
    .mutation(({ ctx }) => calls.deleteOrganization(ctx)),

  listMembers: organizationViewerProcedure
    .meta(alias('GET', 'list-members', 'List members', 'GET /api/members'))
    .input(omittable(schema.OrganizationRef))
    .output(schema.OrganizationMembers)
    .query(({ ctx }) => calls.listOrganizationMembers(ctx.scope)),

  getActiveMember: organizationViewerProcedure
    .meta(alias('GET', 'get-active-member', 'Get the own membership', 'GET /api/members/{userId}'))
    .input(omittable(schema.OrganizationRef))
    .output(schema.OrganizationMember)
    .query(({ ctx }) => calls.getActiveMember(ctx)),

  updateMemberRole: organizationAdminProcedure
    .meta(
      alias('POST', 'update-member-role', 'Change the role of a member', 'PATCH /api/members/{userId}', {
        action: 'members.update',
      }),
    )
    .input(schema.UpdateMemberRole)
    .output(schema.OrganizationMember)
    .mutation(({ ctx, input }) => calls.updateMemberRole(ctx, input)),

  removeMember: organizationAdminProcedure
    .meta(
      alias('POST', 'remove-member', 'Remove a member', 'DELETE /api/members/{userId}', { action: 'members.remove' }),
    )
    .input(schema.RemoveOrganizationMember)
    .output(schema.RemovedMember)
    .mutation(({ ctx, input }) => calls.removeOrganizationMember(ctx, input)),

  leaveOrganization: organizationViewerProcedure
    .meta(alias('POST', 'leave', 'Leave a workspace', 'POST /api/members/leave', { action: 'members.leave' }))
    .input(omittable(schema.OrganizationRef))
    .output(schema.OrganizationMember)
    .mutation(({ ctx }) => calls.leaveOrganization(ctx)),

  inviteMember: organizationAdminProcedure
    .meta(alias('POST', 'invite-member', 'Invite a person', 'POST /api/invitations', { action: 'invitations.create' }))
    .input(schema.InviteMember)
    .output(schema.OrganizationInvitation)
    .mutation(async ({ ctx, input }) => calls.toInvitation(ctx.scope, await createInvitation(ctx, input))),

  listInvitations: organizationAdminProcedure
    .meta(alias('GET', 'list-invitations', 'List invitations', 'GET /api/invitations'))
    .input(omittable(schema.OrganizationRef))
    .output(schema.OrganizationInvitation.array())
    .query(({ ctx }) => calls.listOrganizationInvitations(ctx.scope)),

  cancelInvitation: organizationAdminProcedure
    .meta(
      alias('POST', 'cancel-invitation', 'Revoke an invitation', 'DELETE /api/invitations/{invitationId}', {
        action: 'invitations.revoke',
      }),
    )
    .input(schema.CancelInvitation)
    .output(schema.OrganizationInvitation)
    .mutation(async ({ ctx, input }) => {
      await revokeInvitation(ctx, input)
      return calls.toInvitation(ctx.scope, await getInvitation(ctx.scope, input))
    }),

  acceptInvitation: sessionProcedure
    .meta(
      alias('POST', 'accept-invitation', 'Accept an invitation', 'POST /api/invitations/accept', {
        action: ACTION_OF_ACCEPT,
        isOfSession: true,
      }),
    )
    .input(schema.AcceptOrganizationInvitation)
    .output(schema.AcceptedInvitation)
    .mutation(({ ctx, input }) =>
      calls.acceptOrganizationInvitation({ ...ctx, audit: startAudit(ctx, ACTION_OF_ACCEPT) }, input),
    ),
})
