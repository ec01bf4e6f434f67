import { z } from 'zod'
import { WhatsappCredentials, WhatsappSettings } from '../../channels/whatsapp/settings.ts'
import { id, timestamp, text } from '../../trpc/schemas.ts'
import { phone } from '../contacts/schema.ts'

export const Channel = z
  .object({
    id,
    type: z.enum(['sandbox', 'whatsapp']),
    name: z.string(),
    status: z.enum(['connected', 'degraded', 'disconnected']),
    statusReason: z.string().nullable(),
    phoneNumber: z.string().nullable(),
    phoneNumberId: z.string().nullable(),
    wabaId: z.string().nullable(),
    baseUrl: z.string().nullable(),
    apiVersion: z.string().nullable(),
    broadcastsPerSecond: z.int().meta({ description: 'Messages of broadcasts per second, shared by all workers' }),
    webhookPath: z.string().nullable().meta({
      description: 'Path of the webhook to register with the provider, below the public address of this server',
    }),
    quality: z
      .enum(['green', 'yellow', 'red', 'unknown'])
      .nullable()
      .meta({ description: 'Quality rating of the number, if the provider has reported one' }),
    messagingLimit: z.string().nullable().meta({
      description:
        'Contacts per day that may be written to first, as the provider reports it: a number, or `unlimited`',
    }),
    throughput: z.int().nullable().meta({ description: 'Messages per second, if the provider has reported it' }),
    lastAlert: z
      .object({
        code: z.string(),
        message: z.string(),
        severity: z.enum(['info', 'warning', 'critical']),
        at: z.iso.datetime(),
      })
      .nullable()
      .meta({ description: 'Newest alert, error or restriction that the provider has reported about the channel' }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Channel' })
export type Channel = z.infer<typeof Channel>

export const Channels = z.object({ items: z.array(Channel) })

export const ChannelRef = z.strictObject({ channelId: id })
export type ChannelRef = z.infer<typeof ChannelRef>

const secret = { description: 'Stored encrypted and never returned' }
const { accessToken, appSecret, verifyToken } = WhatsappCredentials.shape
const { phoneNumberId, baseUrl, version } = WhatsappSettings.shape
// Without its default, which a parsed input would have in place of a missing field.
const wabaId = WhatsappSettings.shape.wabaId.unwrap()

export const CreateChannel = z.strictObject({
  type: z.literal('whatsapp', {
    error: ({ input }) =>
      input === undefined ? 'is required: whatsapp' : 'must be whatsapp. Every workspace has its sandbox already',
  }),
  name: text(120),
  phoneNumber: phone.nullish(),
  phoneNumberId,
  wabaId: wabaId.optional(),
  baseUrl: baseUrl.optional(),
  apiVersion: version.optional(),
  accessToken: accessToken.meta(secret),
  appSecret: appSecret.meta(secret),
  verifyToken: verifyToken.meta(secret),
})
export type CreateChannel = z.infer<typeof CreateChannel>

export const UpdateChannel = z.strictObject({
  channelId: id,
  name: text(120).optional(),
  phoneNumber: phone.nullish(),
  wabaId: wabaId.optional(),
  status: z.enum(['connected', 'disconnected']).optional(),
  broadcastsPerSecond: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .meta({ description: 'Leave room for replies below the limit of the provider. Default: 60' }),
  accessToken: accessToken.optional().meta(secret),
  appSecret: appSecret.optional().meta(secret),
  verifyToken: verifyToken.optional().meta(secret),
})
export type UpdateChannel = z.infer<typeof UpdateChannel>
