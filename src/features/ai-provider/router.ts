import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { deleteAiProvider, getAiProvider } from './queries.ts'
import { putAiProvider } from './put-ai-provider.ts'
import { AiProvider, PutAiProvider } from './schema.ts'

export const aiProviderRouter = router({
  get: viewerProcedure
    .meta(rest('GET', '/ai-provider', 'Get the language model that AI steps ask'))
    .input(empty.strict())
    .output(AiProvider)
    .query(({ ctx }) => getAiProvider(ctx.scope)),

  put: adminProcedure
    .meta(rest('PUT', '/ai-provider', 'Say which OpenAI-compatible endpoint AI steps ask'))
    .input(PutAiProvider)
    .output(AiProvider)
    .mutation(({ ctx, input }) => putAiProvider(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/ai-provider', 'Forget the language model and its key', { status: 204 }))
    .input(empty.strict())
    .output(empty)
    .mutation(({ ctx }) => deleteAiProvider(ctx.scope)),
})
