import { z } from 'zod'
import { ROLES } from '../../scope/dependencies.ts'
import { id, timestamp } from '../../trpc/schemas.ts'
import { email, redirectTo } from '../auth/schema.ts'

const role = z.enum(ROLES).meta({ description: 'Each role includes the ones before it' })

export const Member = z
  .object({
    userId: id,
    name: z.string(),
    email: z.string(),
    image: z.string().nullable(),
    role,
    joinedAt: timestamp,
  })
  .meta({ id: 'Member' })
export type Member = z.infer<typeof Member>

export const Members = z.object({ items: z.array(Member) })

export const MemberRef = z.strictObject({ userId: id })
export type MemberRef = z.infer<typeof MemberRef>

export const UpdateMember = z.strictObject({ userId: id, role: role.optional() })
export type UpdateMember = z.infer<typeof UpdateMember>

export const Invitation = z
  .object({
    id,
    email: z.string(),
    role,
    status: z.enum(['pending', 'accepted', 'revoked', 'expired']),
    invitedBy: z.object({ userId: id, name: z.string().nullable() }),
    createdAt: timestamp,
    invitedAt: timestamp.meta({ description: 'The time of the last invitation of this address' }),
    expiresAt: timestamp,
  })
  .meta({ id: 'Invitation' })
export type Invitation = z.infer<typeof Invitation>

export const Invitations = z.object({ items: z.array(Invitation) })

export const InvitationRef = z.strictObject({ invitationId: id })
export type InvitationRef = z.infer<typeof InvitationRef>

export const CreateInvitation = z.strictObject({ email, role, redirectTo })
export type CreateInvitation = z.infer<typeof CreateInvitation>

export const AcceptInvitation = z.strictObject({ token: z.string().min(1, 'must not be empty').max(256) })
export type AcceptInvitation = z.infer<typeof AcceptInvitation>

export const JoinedWorkspace = z.object({ id, name: z.string(), role }).meta({ id: 'JoinedWorkspace' })
export type JoinedWorkspace = z.infer<typeof JoinedWorkspace>
