import { z } from 'zod'
import { createdBy, id, page, text, timestamp, timestampInput, toPage } from '../../trpc/schemas.ts'
import { overlap } from '../api-keys/schema.ts'
import { eventTypes } from '../events/schema.ts'

const EXAMPLE_URL = 'https://shop.example.com/webhooks/parley'

const url = text(2000).meta({
  description: 'A public https address, to which events are posted',
  examples: [EXAMPLE_URL],
})

const types = eventTypes
  .transform((names) => [...new Set(names)])
  .nullable()
  .meta({
    description: 'Types of events to send, such as `run.failed`, and patterns such as `message.*`; null for all',
    examples: [['message.received', 'custom.*']],
  })

const payload = z.enum(['full', 'thin']).meta({
  description:
    '`full` adds what the event is about as `resource`, and the data of custom events as `payload`; `thin` sends IDs only',
})

const description = text(500)
  .nullable()
  .meta({ description: 'What the receiver is for', examples: ['Order system'] })

export const WebhookEndpoint = z
  .object({
    id,
    url: z.string().meta({ examples: [EXAMPLE_URL] }),
    description: z
      .string()
      .nullable()
      .meta({ examples: ['Order system'] }),
    types: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Types and patterns; null for all', examples: [['message.received', 'custom.*']] }),
    payload,
    status: z.enum(['enabled', 'disabled']),
    disabledReason: z.enum(['requested', 'failures', 'gone']).nullable().meta({
      description: '`failures`: nothing else for 5 days; `gone`: the receiver answered 410; null unless it is disabled',
    }),
    failingSince: timestamp.nullable().meta({ description: 'The first failure since the last success' }),
    pausedUntil: timestamp.nullable().meta({
      description:
        'Nothing is sent before, as the receiver has asked for with `Retry-After`, or because it does not answer',
    }),
    gapAt: timestamp.nullable().meta({
      description: 'The last time at which events had been deleted by the retention before they could be sent',
    }),
    previousExpiresAt: timestamp
      .nullable()
      .meta({ description: 'The end of the secret before the present one; null if it has ended' }),
    createdBy,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'WebhookEndpoint' })
export type WebhookEndpoint = z.infer<typeof WebhookEndpoint>

export const WebhookEndpointWithSecret = WebhookEndpoint.extend({
  secret: z.string().meta({
    description: 'The secret with which the receiver verifies signatures. No other answer contains it',
    examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
  }),
}).meta({ id: 'WebhookEndpointWithSecret' })
export type WebhookEndpointWithSecret = z.infer<typeof WebhookEndpointWithSecret>

export const WebhookEndpointList = z.object({ items: z.array(WebhookEndpoint) })
export type WebhookEndpointList = z.infer<typeof WebhookEndpointList>

export const WebhookEndpointRef = z.strictObject({ webhookEndpointId: id })
export type WebhookEndpointRef = z.infer<typeof WebhookEndpointRef>

export const CreateWebhookEndpoint = z.strictObject({
  url,
  description: description.default(null),
  types: types.default(null),
  payload: payload.default('full'),
})
export type CreateWebhookEndpoint = z.infer<typeof CreateWebhookEndpoint>

export const UpdateWebhookEndpoint = z.strictObject({
  webhookEndpointId: id,
  url: url.optional(),
  description: description.optional(),
  types: types.optional(),
  payload: payload.optional(),
  status: z.enum(['enabled', 'disabled']).optional().meta({
    description: 'An endpoint that is enabled again gets events from then on',
  }),
})
export type UpdateWebhookEndpoint = z.infer<typeof UpdateWebhookEndpoint>

export const RotateEndpointSecret = z.strictObject({
  webhookEndpointId: id,
  overlap,
})
export type RotateEndpointSecret = z.infer<typeof RotateEndpointSecret>

const Attempt = z.object({
  at: timestamp,
  statusCode: z
    .int()
    .nullable()
    .meta({ description: 'The status of the answer; null without one', examples: [503] }),
  error: z
    .string()
    .nullable()
    .meta({
      description:
        'Null for a success; `unexpected_status`, or the reason why there was no answer, such as `timed_out`',
      examples: ['unexpected_status'],
    }),
  durationMs: z.int(),
})

export const RecoverEvents = z.strictObject({
  webhookEndpointId: id,
  since: timestampInput.meta({
    description: 'Events from this time on, and from the creation of the endpoint on',
    examples: ['2026-03-02T08:00:00Z'],
  }),
  until: timestampInput.optional().meta({
    description: 'Events before this time, which is after `since`; now by default',
    examples: ['2026-03-02T10:00:00Z'],
  }),
})
export type RecoverEvents = z.infer<typeof RecoverEvents>

/** The input that the job of a recovery stores. */
export const RecoveryInput = z.object({
  webhookEndpointId: z.string(),
  types: z.array(z.string()).nullable(),
  since: z.string(),
  until: z.string(),
})
export type RecoveryInput = z.infer<typeof RecoveryInput>

/** The position and the number of the last line, and the position of the endpoint when the job was created. */
export const RecoveryCursor = z.object({ after: z.number(), line: z.number(), end: z.number() })
export type RecoveryCursor = z.infer<typeof RecoveryCursor>

export const deliveryStatus = z.enum(['delivered', 'waiting', 'failed'])

export const WebhookDelivery = z
  .object({
    id,
    webhookEndpointId: id,
    eventId: id.meta({ description: 'The ID of the event, which is also its `webhook-id`' }),
    type: z.string().meta({ examples: ['message.received'] }),
    status: deliveryStatus.meta({
      description: '`waiting` for the next attempt at `nextAttemptAt`; `failed` after the last one',
    }),
    attemptCount: z.int().meta({ description: 'Attempts so far, without those that were asked for' }),
    attempts: z.array(Attempt).meta({ description: 'The last 20 attempts, oldest first' }),
    nextAttemptAt: timestamp.nullable(),
    deliveredAt: timestamp.nullable(),
    eventAt: timestamp,
    createdAt: timestamp,
  })
  .meta({ id: 'WebhookDelivery' })
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

export const WebhookDeliveryPage = toPage(WebhookDelivery)

export const ListDeliveries = z.strictObject({
  webhookEndpointId: id,
  status: deliveryStatus.optional().meta({ description: 'Only deliveries with this status' }),
  ...page,
})
export type ListDeliveries = z.infer<typeof ListDeliveries>

export const WebhookDeliveryRef = z.strictObject({ webhookDeliveryId: id })
export type WebhookDeliveryRef = z.infer<typeof WebhookDeliveryRef>

export const TestResult = z
  .object({
    delivered: z.boolean(),
    statusCode: z.int().nullable(),
    error: z
      .string()
      .nullable()
      .meta({ examples: [null] }),
    durationMs: z.int(),
  })
  .meta({ id: 'WebhookTestResult' })
export type TestResult = z.infer<typeof TestResult>
