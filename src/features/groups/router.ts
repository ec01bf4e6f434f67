import { adminProcedure, agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { ContactPage } from '../contacts/schema.ts'
import { addGroupContacts, removeGroupContact } from './change-group-contacts.ts'
import { createGroup, deleteGroup, updateGroup } from './changes.ts'
import { getGroup, listGroupContacts, listGroups } from './queries.ts'
import * as schema from './schema.ts'

const DELETE = { status: 204, description: 'The contacts of the group are not deleted.' } as const

const LIST_CONTACTS = { description: 'The contact added last comes first.' }

const ADD_CONTACTS = {
  description: 'Adds all of the contacts or, if one does not exist, none. Contacts of the group already stay in it.',
}

export const groupsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/groups', 'List groups', { description: 'Sorted by creation time, newest first.' }))
    .input(omittable(schema.ListGroups))
    .output(schema.GroupPage)
    .query(({ ctx, input }) => listGroups(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/groups', 'Create a group', { description: 'Creates a group without contacts.', status: 201 }))
    .input(schema.CreateGroup)
    .output(schema.Group)
    .mutation(({ ctx, input }) => createGroup(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/groups/{groupId}', 'Get a group', {
        description: 'Returns the group with the number of its contacts.',
      }),
    )
    .input(schema.GroupRef)
    .output(schema.Group)
    .query(({ ctx, input }) => getGroup(ctx.scope, input)),

  update: adminProcedure
    .meta(
      rest('PATCH', '/groups/{groupId}', 'Update a group', {
        description: 'Fields that are left out stay as they are.',
      }),
    )
    .input(schema.UpdateGroup)
    .output(schema.Group)
    .mutation(({ ctx, input }) => updateGroup(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/groups/{groupId}', 'Delete a group', DELETE))
    .input(schema.GroupRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteGroup(ctx.scope, input)),

  listContacts: viewerProcedure
    .meta(rest('GET', '/groups/{groupId}/contacts', 'List the contacts of a group', LIST_CONTACTS))
    .input(schema.ListGroupContacts)
    .output(ContactPage)
    .query(({ ctx, input }) => listGroupContacts(ctx.scope, input)),

  addContacts: agentProcedure
    .meta(rest('POST', '/groups/{groupId}/contacts', 'Add contacts to a group', ADD_CONTACTS))
    .input(schema.AddGroupContacts)
    .output(schema.Group)
    .mutation(({ ctx, input }) => addGroupContacts(ctx.scope, input)),

  removeContact: agentProcedure
    .meta(
      rest('DELETE', '/groups/{groupId}/contacts/{contactId}', 'Remove a contact from a group', {
        scope: 'groups:write',
        description: 'The contact itself is not deleted.',
        status: 204,
      }),
    )
    .input(schema.RemoveGroupContact)
    .output(empty)
    .mutation(({ ctx, input }) => removeGroupContact(ctx.scope, input)),
})
