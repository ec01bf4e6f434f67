import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { createApiKey, revokeApiKey, rotateApiKey, updateApiKey } from './changes.ts'
import { getApiKey, listApiKeys } from './queries.ts'
import * as schema from './schema.ts'

const CREATE = {
  status: 201,
  idempotent: false,
  description:
    'Returns the secret as `key`, once: only its hash is stored. Send it as `Authorization: Bearer`; `x-tenant-id` may be left out. A key creates no key with rights that it does not have itself.',
} as const

const ROTATE = {
  example: { overlap: '24h' },
  description:
    'Returns a new secret as `key`. The present one works for the `overlap`, 24 hours unless another is given, and those before it until their own end. With `0s` all of them end at once.',
}

const REVOKE = {
  status: 204,
  description:
    'Requests with the key are rejected from now on, and its streams end. The key stays in the list for 366 days, as long as audit events name it.',
} as const

export const apiKeysRouter = router({
  list: adminProcedure
    .meta(rest('GET', '/api-keys', 'List API keys', { description: 'Newest first, with those that were revoked.' }))
    .input(omittable(schema.ListApiKeys))
    .output(schema.ApiKeyPage)
    .query(({ ctx, input }) => listApiKeys(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/api-keys', 'Create an API key', CREATE))
    .input(schema.CreateApiKey)
    .output(schema.ApiKeyWithSecret)
    .mutation(({ ctx, input }) => createApiKey(ctx, input)),

  get: adminProcedure
    .meta(rest('GET', '/api-keys/{apiKeyId}', 'Get an API key', { description: 'Returns the key without its secret.' }))
    .input(schema.ApiKeyRef)
    .output(schema.ApiKey)
    .query(({ ctx, input }) => getApiKey(ctx.scope, input)),

  update: adminProcedure
    .meta(
      rest('PATCH', '/api-keys/{apiKeyId}', 'Update an API key', {
        description: 'Applies to the next request. Streams that the key has open end when its rights change.',
      }),
    )
    .input(schema.UpdateApiKey)
    .output(schema.ApiKey)
    .mutation(({ ctx, input }) => updateApiKey(ctx, input)),

  rotate: adminProcedure
    .meta(rest('POST', '/api-keys/{apiKeyId}/rotate', 'Rotate the secret of an API key', ROTATE))
    .input(schema.RotateApiKey)
    .output(schema.ApiKeyWithSecret)
    .mutation(({ ctx, input }) => rotateApiKey(ctx, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/api-keys/{apiKeyId}', 'Revoke an API key', REVOKE))
    .input(schema.ApiKeyRef)
    .output(empty)
    .mutation(({ ctx, input }) => revokeApiKey(ctx, input)),
})
