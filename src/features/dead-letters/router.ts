import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { discardDeadLetter, retryDeadLetter, retryDeadLetters } from './changes.ts'
import { getDeadLetter, listDeadLetters } from './queries.ts'
import {
  DeadLetter,
  DeadLetterPage,
  DeadLetterRef,
  ListDeadLetters,
  RetriedDeadLetters,
  RetryDeadLetters,
} from './schema.ts'

const LIST = {
  description:
    'Messages, events and timers that could not be processed in five attempts, those that failed last first. Later items of the same conversation have been processed meanwhile.',
}

const RETRY = {
  status: 202,
  description:
    'Puts the item back into its mailbox, with all its attempts, and returns it. It is processed before the items that are still waiting there, as if it had just arrived. Responds with 404 if it was retried or discarded before.',
} as const

const RETRY_MANY = {
  status: 202,
  example: { type: 'message' },
  description: 'Retries the oldest dead letters, at most 100, optionally filtered like the list.',
} as const

const DISCARD = {
  status: 204,
  description: 'Deletes the item for good. Responds with 404 if it was retried or discarded before.',
} as const

export const deadLettersRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/dead-letters', 'List dead letters', LIST))
    .input(omittable(ListDeadLetters))
    .output(DeadLetterPage)
    .query(({ ctx, input }) => listDeadLetters(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/dead-letters/{deadLetterId}', 'Get a dead letter', {
        description: 'Returns the item with its last error.',
      }),
    )
    .input(DeadLetterRef)
    .output(DeadLetter)
    .query(({ ctx, input }) => getDeadLetter(ctx.scope, input)),

  retry: adminProcedure
    .meta(rest('POST', '/dead-letters/{deadLetterId}/retry', 'Retry a dead letter', RETRY))
    .input(DeadLetterRef)
    .output(DeadLetter)
    .mutation(({ ctx, input }) => retryDeadLetter(ctx.scope, input)),

  discard: adminProcedure
    .meta(rest('POST', '/dead-letters/{deadLetterId}/discard', 'Discard a dead letter', DISCARD))
    .input(DeadLetterRef)
    .output(empty)
    .mutation(({ ctx, input }) => discardDeadLetter(ctx.scope, input)),

  retryMany: adminProcedure
    .meta(rest('POST', '/dead-letters/retry', 'Retry dead letters', RETRY_MANY))
    .input(omittable(RetryDeadLetters))
    .output(RetriedDeadLetters)
    .mutation(({ ctx, input }) => retryDeadLetters(ctx.scope, input)),
})
