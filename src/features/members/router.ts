import { startAudit } from '../../trpc/audit.ts'
import { adminProcedure, router, sessionProcedure, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { leaveWorkspace, removeMember, updateMember } from './changes.ts'
import { acceptInvitation } from './invitations/accept-invitation.ts'
import { createInvitation, revokeInvitation } from './invitations/changes.ts'
import { listInvitations } from './invitations/queries.ts'
import { getMember, listMembers } from './queries.ts'
import * as schema from './schema.ts'

const RIGHTS =
  'Nobody changes or grants a role above the own one. Returns 409 with the code `last_owner` if no owner would remain.'

const LEAVE = {
  scope: null,
  status: 204,
  description:
    'Ends the membership of the caller and unassigns its conversations. Returns 409 with the code `last_owner` to the only owner.',
} as const

const REMOVE = {
  scope: null,
  status: 204,
  description: `Ends the access of a member at once and unassigns its conversations. ${RIGHTS}`,
} as const

export const membersRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/members', 'List members', { description: 'Returns all members, in the order of joining.' }))
    .input(omittable(empty.strict()))
    .output(schema.Members)
    .query(({ ctx }) => listMembers(ctx.scope)),

  leave: viewerProcedure
    .meta(rest('POST', '/members/leave', 'Leave the workspace', LEAVE))
    .input(omittable(empty.strict()))
    .output(empty)
    .mutation(({ ctx }) => leaveWorkspace(ctx)),

  get: viewerProcedure
    .meta(rest('GET', '/members/{userId}', 'Get a member', { description: 'Returns name, address and role.' }))
    .input(schema.MemberRef)
    .output(schema.Member)
    .query(({ ctx, input }) => getMember(ctx.scope, input)),

  update: adminProcedure
    .meta(
      rest('PATCH', '/members/{userId}', 'Change the role of a member', {
        scope: null,
        description: `Takes effect at once: subscriptions of a member with a lower role end. ${RIGHTS}`,
      }),
    )
    .input(schema.UpdateMember)
    .output(schema.Member)
    .mutation(({ ctx, input }) => updateMember(ctx, input)),

  remove: adminProcedure
    .meta(rest('DELETE', '/members/{userId}', 'Remove a member', REMOVE))
    .input(schema.MemberRef)
    .output(empty)
    .mutation(({ ctx, input }) => removeMember(ctx, input)),
})

const INVITE = {
  scope: null,
  status: 201,
  description:
    'Emails a link that is valid for 7 days, or a request to send. Inviting the address again renews it: the former link no longer works. The answer is the same whether there is an account or not.',
} as const

const REVOKE = {
  scope: null,
  status: 204,
  description: 'The emailed link no longer works. Returns 409 with the code `invitation_accepted` if it was used.',
} as const

const ACCEPT = {
  withoutWorkspace: true,
  description:
    'Makes the caller a member, if the address of the account is the invited one. Accepting again has no effect. Returns 422 with the code `invitation_invalid` for every other token.',
} as const

/** Procedures of the namespace `invitations`. */
export const invitationsRouter = router({
  list: adminProcedure
    .meta(
      rest('GET', '/invitations', 'List invitations', {
        scope: null,
        description: 'Returns the pending ones, then the newest of the others, 200 together.',
      }),
    )
    .input(omittable(empty.strict()))
    .output(schema.Invitations)
    .query(({ ctx }) => listInvitations(ctx.scope)),

  create: adminProcedure
    .meta(rest('POST', '/invitations', 'Invite a person', INVITE))
    .input(schema.CreateInvitation)
    .output(schema.Invitation)
    .mutation(({ ctx, input }) => createInvitation(ctx, input)),

  accept: sessionProcedure
    .meta(rest('POST', '/invitations/accept', 'Accept an invitation', ACCEPT))
    .input(schema.AcceptInvitation)
    .output(schema.JoinedWorkspace)
    .mutation(({ ctx, input, path }) => acceptInvitation({ ...ctx, audit: startAudit(ctx, path) }, input)),

  revoke: adminProcedure
    .meta(rest('DELETE', '/invitations/{invitationId}', 'Revoke an invitation', REVOKE))
    .input(schema.InvitationRef)
    .output(empty)
    .mutation(({ ctx, input }) => revokeInvitation(ctx, input)),
})
