import { z } from 'zod'
import { id, timestamp, page, toPage, text } from '../../trpc/schemas.ts'

export const Group = z
  .object({
    id,
    name: z.string(),
    description: z.string().nullable(),
    contactCount: z.int(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Group' })
export type Group = z.infer<typeof Group>

export const GroupPage = toPage(Group)

export const ListGroups = z.strictObject(page)
export type ListGroups = z.infer<typeof ListGroups>

export const GroupRef = z.strictObject({ groupId: id })
export type GroupRef = z.infer<typeof GroupRef>

const name = text(120)
const description = text(500, 0)

export const CreateGroup = z.strictObject({ name, description: description.nullish() })
export type CreateGroup = z.infer<typeof CreateGroup>

export const UpdateGroup = z.strictObject({ groupId: id, name: name.optional(), description: description.nullish() })
export type UpdateGroup = z.infer<typeof UpdateGroup>

export const ListGroupContacts = z.strictObject({ groupId: id, ...page })
export type ListGroupContacts = z.infer<typeof ListGroupContacts>

export const AddGroupContacts = z.strictObject({
  groupId: id,
  contactIds: z.array(id).min(1, 'must not be empty').max(500),
})
export type AddGroupContacts = z.infer<typeof AddGroupContacts>

export const RemoveGroupContact = z.strictObject({ groupId: id, contactId: id })
export type RemoveGroupContact = z.infer<typeof RemoveGroupContact>
