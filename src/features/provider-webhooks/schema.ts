import { z } from 'zod'
import { id, nextCursor, page, timestamp } from '../../trpc/schemas.ts'

const Status = z.enum(['processed', 'pending', 'failed', 'rejected'])

export const ProviderWebhook = z
  .object({
    id,
    channelId: id,
    status: Status.meta({
      description:
        '`pending` is retried in the background, `failed` is not any more; the body of a `rejected` one is not JSON or too large',
    }),
    counts: z
      .record(z.string(), z.int())
      .meta({ description: 'Number of parts by kind, such as `messages`; `ignored` counts parts that were skipped' }),
    unknown: z
      .array(z.string())
      .meta({ description: 'Fields and types that are not known, such as `field:flows`, at most 50' }),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    attempts: z.int(),
    nextAttemptAt: timestamp.nullable(),
    bytes: z
      .int()
      .meta({ description: 'Size of the body; 0 if it was not kept, because those of the day were too large' }),
    createdAt: timestamp,
  })
  .meta({ id: 'ProviderWebhook' })
export type ProviderWebhook = z.infer<typeof ProviderWebhook>

export const ProviderWebhookWithBody = ProviderWebhook.extend({
  body: z.string().meta({ description: 'The body as it arrived; empty if it was not kept' }),
}).meta({ id: 'ProviderWebhookWithBody' })
export type ProviderWebhookWithBody = z.infer<typeof ProviderWebhookWithBody>

export const ProviderWebhooks = z.object({
  items: z.array(ProviderWebhook),
  nextCursor,
})
export type ProviderWebhooks = z.infer<typeof ProviderWebhooks>

export const ProviderWebhookRef = z.strictObject({ channelId: id, webhookId: id })
export type ProviderWebhookRef = z.infer<typeof ProviderWebhookRef>

export const ListProviderWebhooks = z.strictObject({
  channelId: id,
  limit: page.limit,
  status: Status.optional().meta({ description: 'Only webhooks with this status' }),
  cursor: page.cursor,
})
export type ListProviderWebhooks = z.infer<typeof ListProviderWebhooks>
