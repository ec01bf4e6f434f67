import { agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { bulkContacts } from './bulk/bulk-contacts.ts'
import { BulkContacts, BulkResults } from './bulk/schema.ts'
import { createContact, updateContact } from './changes.ts'
import { deleteContact } from './delete-contact.ts'
import { getContact, listContacts } from './queries.ts'
import { Contact, ContactPage, ContactRef, CreateContact, ListContacts, UpdateContact } from './schema.ts'

const CREATE = {
  status: 201,
  description: 'The phone number and the external id must be unique in the workspace.',
} as const

const BULK = {
  idempotent: true,
  description:
    'Up to 500 contacts in one call, which counts as one. The answer has a result for each item, in their order: an item that is not valid fails by itself. Sending the same items again changes nothing.',
} as const

const UPDATE = { description: 'Fields that are left out stay as they are.' }

const DELETE = {
  status: 204,
  description:
    'Also deletes the conversations, messages and runs of the contact. All of it is gone for everybody with the answer. Of many messages and runs, the rows are then deleted in the background.',
} as const

export const contactsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/contacts', 'List contacts', { description: 'Sorted by creation time, newest first.' }))
    .input(omittable(ListContacts))
    .output(ContactPage)
    .query(({ ctx, input }) => listContacts(ctx.scope, input)),

  create: agentProcedure
    .meta(rest('POST', '/contacts', 'Create a contact', CREATE))
    .input(CreateContact)
    .output(Contact)
    .mutation(({ ctx, input }) => createContact(ctx.scope, input)),

  bulk: agentProcedure
    .meta(rest('POST', '/contacts/bulk', 'Create and update many contacts', BULK))
    .input(BulkContacts)
    .output(BulkResults)
    .mutation(({ ctx, input }) => bulkContacts(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/contacts/{contactId}', 'Get a contact', {
        description: 'Returns the contact with its tags, fields and consent.',
      }),
    )
    .input(ContactRef)
    .output(Contact)
    .query(({ ctx, input }) => getContact(ctx.scope, input)),

  update: agentProcedure
    .meta(rest('PATCH', '/contacts/{contactId}', 'Update a contact', UPDATE))
    .input(UpdateContact)
    .output(Contact)
    .mutation(({ ctx, input }) => updateContact(ctx.scope, input)),

  delete: agentProcedure
    .meta(rest('DELETE', '/contacts/{contactId}', 'Delete a contact', DELETE))
    .input(ContactRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteContact(ctx.scope, input)),
})
