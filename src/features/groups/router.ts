import { adminProcedure, agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { ContactPage } from '../contacts/schema.ts'
import { addGroupContacts } from './add-group-contacts.ts'
import { createGroup } from './create-group.ts'
import { deleteGroup } from './delete-group.ts'
import { getGroup } from './group-query.ts'
import { listGroupContacts } from './list-group-contacts.ts'
import { listGroups } from './list-groups.ts'
import { removeGroupContact } from './remove-group-contact.ts'
import * as schema from './schema.ts'
import { updateGroup } from './update-group.ts'

export const groupsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/groups', 'List groups'))
    .input(schema.ListGroups)
    .output(schema.GroupPage)
    .query(({ ctx, input }) => listGroups(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/groups', 'Create a group', { status: 201 }))
    .input(schema.CreateGroup)
    .output(schema.Group)
    .mutation(({ ctx, input }) => createGroup(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/groups/{id}', 'Get a group'))
    .input(schema.GroupRef)
    .output(schema.Group)
    .query(({ ctx, input }) => getGroup(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/groups/{id}', 'Change a group'))
    .input(schema.UpdateGroup)
    .output(schema.Group)
    .mutation(({ ctx, input }) => updateGroup(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/groups/{id}', 'Delete a group; its contacts stay', { status: 204 }))
    .input(schema.GroupRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteGroup(ctx.scope, input)),

  contacts: viewerProcedure
    .meta(rest('GET', '/groups/{id}/contacts', 'List the contacts of a group'))
    .input(schema.ListGroupContacts)
    .output(ContactPage)
    .query(({ ctx, input }) => listGroupContacts(ctx.scope, input)),

  addContacts: agentProcedure
    .meta(rest('POST', '/groups/{id}/contacts', 'Add contacts to a group'))
    .input(schema.AddGroupContacts)
    .output(schema.Group)
    .mutation(({ ctx, input }) => addGroupContacts(ctx.scope, input)),

  removeContact: agentProcedure
    .meta(rest('DELETE', '/groups/{id}/contacts/{contactId}', 'Take a contact out of a group', { status: 204 }))
    .input(schema.RemoveGroupContact)
    .output(empty)
    .mutation(({ ctx, input }) => removeGroupContact(ctx.scope, input)),
})
