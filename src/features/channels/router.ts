import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createChannel } from './create-channel.ts'
import { deleteChannel } from './delete-channel.ts'
import { getChannel } from './get-channel.ts'
import { listChannels } from './list-channels.ts'
import { Channel, ChannelRef, Channels, CreateChannel, UpdateChannel } from './schema.ts'
import { updateChannel } from './update-channel.ts'

export const channelsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/channels', 'List all channels'))
    .input(empty.strict())
    .output(Channels)
    .query(({ ctx }) => listChannels(ctx.scope)),

  create: adminProcedure
    .meta(rest('POST', '/channels', 'Connect a WhatsApp number', { status: 201 }))
    .input(CreateChannel)
    .output(Channel)
    .mutation(({ ctx, input }) => createChannel(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/channels/{channelId}', 'Get a channel'))
    .input(ChannelRef)
    .output(Channel)
    .query(({ ctx, input }) => getChannel(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/channels/{channelId}', "Change a channel's name, state or credentials"))
    .input(UpdateChannel)
    .output(Channel)
    .mutation(({ ctx, input }) => updateChannel(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/channels/{channelId}', 'Delete a channel and all that was said on it', { status: 204 }))
    .input(ChannelRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteChannel(ctx.scope, input)),
})
