import { z } from 'zod'
import { timestamp } from '../../trpc/schemas.ts'

const webhookPath = z.string().meta({ description: 'The path to call, relative to the address of this API' })

export const Webhook = z
  .object({
    webhookPath,
    rotatedAt: timestamp.nullable().meta({ description: 'Creation time of the secret; null if there is none yet' }),
    createdAt: timestamp,
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

export const WebhookSecret = z
  .object({ webhookPath, secret: z.string().meta({ description: 'Returned only once' }) })
  .meta({ id: 'WebhookSecret' })
export type WebhookSecret = z.infer<typeof WebhookSecret>
