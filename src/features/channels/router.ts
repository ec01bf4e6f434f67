import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { createChannel, deleteChannel, updateChannel } from './changes.ts'
import { getChannel, listChannels } from './queries.ts'
import { Channel, ChannelRef, Channels, CreateChannel, UpdateChannel } from './schema.ts'

const CREATE = {
  status: 201,
  description: 'Connects a WhatsApp business number. Register `webhookPath` of the response with the provider.',
} as const

const UPDATE = {
  description:
    'Changes the name, phone number, connection or credentials. New credentials replace only those that are set, and reconnect a degraded channel.',
}

const DELETE = {
  status: 204,
  description: 'Also deletes its conversations and messages. A channel that a broadcast uses cannot be deleted.',
} as const

export const channelsRouter = router({
  list: viewerProcedure
    .meta(
      rest('GET', '/channels', 'List channels', {
        description: 'Returns all channels with their status, without their credentials.',
      }),
    )
    .input(omittable(empty.strict()))
    .output(Channels)
    .query(({ ctx }) => listChannels(ctx.scope)),

  create: adminProcedure
    .meta(rest('POST', '/channels', 'Create a channel', CREATE))
    .input(CreateChannel)
    .output(Channel)
    .mutation(({ ctx, input }) => createChannel(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/channels/{channelId}', 'Get a channel', {
        description: 'Returns the channel with its status, without its credentials.',
      }),
    )
    .input(ChannelRef)
    .output(Channel)
    .query(({ ctx, input }) => getChannel(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/channels/{channelId}', 'Update a channel', UPDATE))
    .input(UpdateChannel)
    .output(Channel)
    .mutation(({ ctx, input }) => updateChannel(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/channels/{channelId}', 'Delete a channel', DELETE))
    .input(ChannelRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteChannel(ctx.scope, input)),
})
