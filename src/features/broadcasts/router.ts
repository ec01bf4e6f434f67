import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createBroadcast } from './create-broadcast.ts'
import { deleteBroadcast } from './delete-broadcast.ts'
import { getBroadcast } from './get-broadcast.ts'
import { listBroadcasts } from './list-broadcasts.ts'
import { listRecipients } from './list-recipients.ts'
import * as schema from './schema.ts'
import { updateBroadcast } from './update-broadcast.ts'

export const broadcastsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/broadcasts', 'List broadcasts'))
    .input(schema.ListBroadcasts)
    .output(schema.BroadcastPage)
    .query(({ ctx, input }) => listBroadcasts(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/broadcasts', 'Draft a broadcast', { status: 201 }))
    .input(schema.CreateBroadcast)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => createBroadcast(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/broadcasts/{id}', 'Get a broadcast'))
    .input(schema.BroadcastRef)
    .output(schema.Broadcast)
    .query(({ ctx, input }) => getBroadcast(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/broadcasts/{id}', 'Change a broadcast that has not started'))
    .input(schema.UpdateBroadcast)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => updateBroadcast(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/broadcasts/{id}', 'Delete a draft', { status: 204 }))
    .input(schema.BroadcastRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteBroadcast(ctx.scope, input)),

  recipients: viewerProcedure
    .meta(rest('GET', '/broadcasts/{id}/recipients', 'List whom a broadcast goes to, and how far it came with each'))
    .input(schema.ListRecipients)
    .output(schema.BroadcastRecipientPage)
    .query(({ ctx, input }) => listRecipients(ctx.scope, input)),
})
