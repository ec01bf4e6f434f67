import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { PutRetention, Retention } from './schema.ts'
import { getRetention, putRetention } from './settings.ts'

const GET = { description: 'Returns after how many days rows of each kind are deleted; null means never.' }

const PUT = {
  description:
    'Replaces the retention; what is left out is null. Older rows are deleted in the background and cannot be restored. Conversations, messages that are not yet sent and runs that have not ended stay.',
  example: { messages: 365, runs: 90 },
} as const

/** Procedures of the namespace `workspace`. */
export const retentionRouter = router({
  getRetention: adminProcedure
    .meta(rest('GET', '/workspace/retention', 'Get the retention', GET))
    .input(omittable(empty.strict()))
    .output(Retention)
    .query(({ ctx }) => getRetention(ctx.scope)),

  setRetention: adminProcedure
    .meta(rest('PUT', '/workspace/retention', 'Set the retention', PUT))
    .input(PutRetention)
    .output(Retention)
    .mutation(({ ctx, input }) => putRetention(ctx.scope, input)),
})
