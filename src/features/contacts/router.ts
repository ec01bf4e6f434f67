import { agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createContact } from './create-contact.ts'
import { deleteContact } from './delete-contact.ts'
import { getContact } from './get-contact.ts'
import { listContacts } from './list-contacts.ts'
import { Contact, ContactPage, ContactRef, CreateContact, ListContacts, UpdateContact } from './schema.ts'
import { updateContact } from './update-contact.ts'

export const contactsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/contacts', 'List contacts'))
    .input(ListContacts)
    .output(ContactPage)
    .query(({ ctx, input }) => listContacts(ctx.scope, input)),

  create: agentProcedure
    .meta(rest('POST', '/contacts', 'Create a contact', { status: 201 }))
    .input(CreateContact)
    .output(Contact)
    .mutation(({ ctx, input }) => createContact(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/contacts/{contactId}', 'Get a contact'))
    .input(ContactRef)
    .output(Contact)
    .query(({ ctx, input }) => getContact(ctx.scope, input)),

  update: agentProcedure
    .meta(rest('PATCH', '/contacts/{contactId}', 'Change a contact'))
    .input(UpdateContact)
    .output(Contact)
    .mutation(({ ctx, input }) => updateContact(ctx.scope, input)),

  delete: agentProcedure
    .meta(rest('DELETE', '/contacts/{contactId}', 'Delete a contact and all that was said with them', { status: 204 }))
    .input(ContactRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteContact(ctx.scope, input)),
})
