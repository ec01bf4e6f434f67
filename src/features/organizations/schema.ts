import { z } from 'zod'
import { id, timestamp } from '../../trpc/schemas.ts'
import { CreateInvitation, Member, UpdateMember } from '../members/schema.ts'
import { CreateWorkspace } from '../workspaces/schema.ts'

const name = CreateWorkspace.shape.name.meta({ description: 'Name of the workspace, up to 120 characters' })
const { role } = Member.shape
const { email, redirectTo } = CreateInvitation.shape

const organizationId = id.optional().meta({ description: 'ID of a workspace, which takes the place of `x-tenant-id`' })
const memberId = id.meta({ description: 'The ID of the user' })

export const Organization = z
  .object({
    id,
    name: z.string(),
    slug: z.string().meta({ description: 'The `id`: workspaces have no other name in addresses' }),
    logo: z.null(),
    metadata: z.null(),
    createdAt: timestamp,
  })
  .meta({ id: 'Organization' })
export type Organization = z.infer<typeof Organization>

export const OrganizationMember = z
  .object({
    id: memberId,
    organizationId: id,
    userId: id,
    role,
    createdAt: timestamp,
    user: z.object({ id, name: z.string(), email: z.string(), image: z.string().nullable() }),
  })
  .meta({ id: 'OrganizationMember' })
export type OrganizationMember = z.infer<typeof OrganizationMember>

export const OrganizationInvitation = z
  .object({
    id,
    organizationId: id,
    email: z.string(),
    role,
    status: z
      .enum(['pending', 'accepted', 'canceled'])
      .meta({ description: 'Pending also after `expiresAt`, as in better-auth' }),
    inviterId: id,
    expiresAt: timestamp,
    createdAt: timestamp,
  })
  .meta({ id: 'OrganizationInvitation' })
export type OrganizationInvitation = z.infer<typeof OrganizationInvitation>

export const FullOrganization = Organization.extend({
  members: z.array(OrganizationMember),
  invitations: z.array(OrganizationInvitation).meta({ description: 'Empty for members who are no admins' }),
}).meta({ id: 'FullOrganization' })
export type FullOrganization = z.infer<typeof FullOrganization>

/** The ID, which no header stands in for, is the confirmation: the client has no other field. */
export const DeleteOrganization = z.strictObject({
  organizationId: id.meta({ description: 'ID of the workspace; `x-tenant-id` does not take its place' }),
})

export const OrganizationRef = z.strictObject({ organizationId })

const slug = z.string().max(120).optional().meta({ description: 'Accepted and ignored' })

export const CreateOrganization = z.strictObject({
  name,
  slug,
  keepCurrentActiveOrganization: z.boolean().optional().meta({ description: 'Accepted and ignored' }),
})
export type CreateOrganization = z.infer<typeof CreateOrganization>

export const UpdateOrganization = z.strictObject({
  organizationId,
  data: z.strictObject({ name: name.optional(), slug }),
})

export const OrganizationMembers = z
  .object({ members: z.array(OrganizationMember), total: z.int() })
  .meta({ description: 'The members of the workspace' })
export type OrganizationMembers = z.infer<typeof OrganizationMembers>

export const RemoveOrganizationMember = z.strictObject({
  organizationId,
  memberIdOrEmail: z.string().max(254, 'must have at most 254 characters'),
})
export type RemoveOrganizationMember = z.infer<typeof RemoveOrganizationMember>

export const RemovedMember = z
  .object({ member: OrganizationMember })
  .meta({ description: 'The member who was removed' })

export const UpdateMemberRole = z.strictObject({ organizationId, memberId, role: UpdateMember.shape.role.unwrap() })
export type UpdateMemberRole = z.infer<typeof UpdateMemberRole>

export const InviteMember = z.strictObject({
  organizationId,
  email,
  role,
  redirectTo,
  resend: z.boolean().optional().meta({ description: 'Accepted and ignored: inviting again renews the invitation' }),
})

export const CancelInvitation = z.strictObject({ organizationId, invitationId: id })

export const AcceptOrganizationInvitation = z.strictObject({
  invitationId: z
    .string()
    .min(1, 'must not be empty')
    .max(256)
    .meta({ description: 'The `token` of the emailed link, which only the invited person has' }),
})
export type AcceptOrganizationInvitation = z.infer<typeof AcceptOrganizationInvitation>

export const AcceptedInvitation = z
  .object({
    invitation: z.object({ organizationId: id, email: z.string(), role, status: z.literal('accepted') }),
    member: OrganizationMember,
  })
  .meta({ description: 'The accepted invitation and the new member' })
export type AcceptedInvitation = z.infer<typeof AcceptedInvitation>
