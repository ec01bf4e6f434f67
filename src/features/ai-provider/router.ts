import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { getAiProvider } from './queries.ts'
import { deleteAiProvider, putAiProvider } from './changes.ts'
import { AiProvider, PutAiProvider } from './schema.ts'

export const aiProviderRouter = router({
  get: viewerProcedure
    .meta(
      rest('GET', '/ai-provider', 'Get the AI provider', {
        description: 'Returns the endpoint and the model without the API key, or 404 if none is set.',
        canBeMissing: true,
      }),
    )
    .input(omittable(empty.strict()))
    .output(AiProvider)
    .query(({ ctx }) => getAiProvider(ctx.scope)),

  set: adminProcedure
    .meta(
      rest('PUT', '/ai-provider', 'Set the AI provider', {
        description: 'Creates or replaces the OpenAI-compatible endpoint that AI steps use.',
      }),
    )
    .input(PutAiProvider)
    .output(AiProvider)
    .mutation(({ ctx, input }) => putAiProvider(ctx.scope, input)),

  delete: adminProcedure
    .meta(
      rest('DELETE', '/ai-provider', 'Delete the AI provider', {
        status: 204,
        description: 'Deletes its API key too.',
      }),
    )
    .input(omittable(empty.strict()))
    .output(empty)
    .mutation(({ ctx }) => deleteAiProvider(ctx.scope)),
})
