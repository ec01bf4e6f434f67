import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createBroadcast } from './create-broadcast.ts'
import { deleteBroadcast } from './delete-broadcast.ts'
import { getBroadcast, listBroadcasts, listRecipients } from './queries.ts'
import * as schema from './schema.ts'
import { updateBroadcast } from './update-broadcast.ts'

const CREATE = { status: 201, description: 'The broadcast is a draft: nothing is sent.' } as const

const UPDATE = { description: 'A broadcast can be updated until it starts. Fields that are left out stay as they are.' }

const DELETE = { status: 204, description: 'Only a draft can be deleted.' } as const

const RECIPIENTS = { description: 'Each recipient has its delivery status.' }

export const broadcastsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/broadcasts', 'List broadcasts', { description: 'Sorted by creation time, newest first.' }))
    .input(schema.ListBroadcasts)
    .output(schema.BroadcastPage)
    .query(({ ctx, input }) => listBroadcasts(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/broadcasts', 'Create a broadcast', CREATE))
    .input(schema.CreateBroadcast)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => createBroadcast(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/broadcasts/{broadcastId}', 'Get a broadcast', {
        description: 'Returns the broadcast with the number of its recipients by delivery status.',
      }),
    )
    .input(schema.BroadcastRef)
    .output(schema.Broadcast)
    .query(({ ctx, input }) => getBroadcast(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/broadcasts/{broadcastId}', 'Update a broadcast', UPDATE))
    .input(schema.UpdateBroadcast)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => updateBroadcast(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/broadcasts/{broadcastId}', 'Delete a broadcast', DELETE))
    .input(schema.BroadcastRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteBroadcast(ctx.scope, input)),

  recipients: viewerProcedure
    .meta(rest('GET', '/broadcasts/{id}/recipients', 'List the recipients of a broadcast', RECIPIENTS))
    .input(schema.ListRecipients)
    .output(schema.BroadcastRecipientPage)
    .query(({ ctx, input }) => listRecipients(ctx.scope, input)),
})
