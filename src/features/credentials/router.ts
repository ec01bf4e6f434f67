import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { createCredential, deleteCredential, updateCredential } from './changes.ts'
import { getCredential, listCredentials } from './queries.ts'
import * as schema from './schema.ts'

const CREATE = {
  status: 201,
  description: 'Stores the secret encrypted. `http` steps and tools use it by its ID; no response contains it.',
} as const

const UPDATE = {
  description:
    'A new secret is used from the next call on. The secret is required when hosts are added or the placement changes.',
}

const DELETE = {
  status: 204,
  description:
    'Returns 409 with the code `credential_in_use` while a tool, or the draft or published version of a workflow uses it.',
} as const

export const credentialsRouter = router({
  list: adminProcedure
    .meta(rest('GET', '/credentials', 'List credentials', { description: 'Sorted by name, without the secrets.' }))
    .input(omittable(empty.strict()))
    .output(schema.Credentials)
    .query(({ ctx }) => listCredentials(ctx.scope)),

  create: adminProcedure
    .meta(rest('POST', '/credentials', 'Create a credential', CREATE))
    .input(schema.CreateCredential)
    .output(schema.Credential)
    .mutation(({ ctx, input }) => createCredential(ctx.scope, input)),

  get: adminProcedure
    .meta(
      rest('GET', '/credentials/{credentialId}', 'Get a credential', {
        description: 'Returns where the credential may be used and the last characters of its secret.',
      }),
    )
    .input(schema.CredentialRef)
    .output(schema.Credential)
    .query(({ ctx, input }) => getCredential(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/credentials/{credentialId}', 'Update a credential', UPDATE))
    .input(schema.UpdateCredential)
    .output(schema.Credential)
    .mutation(({ ctx, input }) => updateCredential(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/credentials/{credentialId}', 'Delete a credential', DELETE))
    .input(schema.CredentialRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteCredential(ctx.scope, input)),
})
