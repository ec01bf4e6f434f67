import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { Job } from '../jobs/schema.ts'
import { redeliver, testEndpoint } from './attempts.ts'
import { createWebhookEndpoint, deleteWebhookEndpoint, rotateEndpointSecret, updateWebhookEndpoint } from './changes.ts'
import { getWebhookDelivery, getWebhookEndpoint, listDeliveries, listWebhookEndpoints } from './queries.ts'
import { recoverEvents } from './recover-events.ts'
import * as schema from './schema.ts'

const CREATE = {
  status: 201,
  idempotent: false,
  description:
    'Events of the types are posted to the address from now on, signed as [Standard Webhooks](https://www.standardwebhooks.com) defines. Returns the `secret` for verifying the signatures, once. A key needs the scopes for reading what is sent.',
} as const

const GET = { description: 'Returns the endpoint without its secret, and whether it works.' }

const UPDATE = {
  description:
    'Applies to the next event. An endpoint that is enabled again gets the events from then on. A key needs the scopes for reading what is sent.',
}

const ROTATE = {
  example: { overlap: '24h' },
  description:
    'Returns a new `secret`. Until the end of the `overlap`, 24 hours unless another is given, deliveries have a signature of the present one as well. With `0s` it ends at once. A key needs no scopes for reading what is sent, as it goes to the same address.',
}

const DELIVERIES = {
  scope: 'webhook-endpoints:read',
  description: 'Events that were sent at least once, with their attempts, newest first. They are kept for 7 days.',
} as const

const RECOVER = {
  status: 202,
  description:
    'Starts a job that sends the events of a time again that did not arrive, or that the endpoint missed while it was disabled: those of its present types since its creation that the workspace still has, at most 100,000. The endpoint must be enabled. A result has the ID of its event: `created` or `updated` if the event is to be sent now, `unchanged` if it was delivered, waits for a retry, or is of a type that is not wanted any more. A key needs the scopes for reading what is sent.',
} as const

const DELIVERY = {
  scope: 'webhook-endpoints:read',
  description: 'Returns an event that was sent, with its attempts.',
} as const

const TEST = {
  unaudited: 'it stores nothing',
  description:
    'Posts an event of the type `webhook_endpoint.tested` and returns what the receiver answers within 15 seconds. Nothing is recorded. A key needs no scopes for reading what is sent, as a test has no content.',
}

const REDELIVER = {
  unaudited: 'the delivery has the attempt',
  scope: 'webhook-endpoints:write',
  description:
    'Posts the event once more, with the same `webhook-id`, and waits up to 15 seconds for the answer. It does not count for the state of the endpoint.',
} as const

export const webhookEndpointsRouter = router({
  list: adminProcedure
    .meta(rest('GET', '/webhook-endpoints', 'List webhook endpoints', { description: 'All of them, newest first.' }))
    .output(schema.WebhookEndpointList)
    .query(({ ctx }) => listWebhookEndpoints(ctx.scope)),

  create: adminProcedure
    .meta(rest('POST', '/webhook-endpoints', 'Create a webhook endpoint', CREATE))
    .input(schema.CreateWebhookEndpoint)
    .output(schema.WebhookEndpointWithSecret)
    .mutation(({ ctx, input }) => createWebhookEndpoint(ctx.scope, input)),

  get: adminProcedure
    .meta(rest('GET', '/webhook-endpoints/{webhookEndpointId}', 'Get a webhook endpoint', GET))
    .input(schema.WebhookEndpointRef)
    .output(schema.WebhookEndpoint)
    .query(({ ctx, input }) => getWebhookEndpoint(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/webhook-endpoints/{webhookEndpointId}', 'Update a webhook endpoint', UPDATE))
    .input(schema.UpdateWebhookEndpoint)
    .output(schema.WebhookEndpoint)
    .mutation(({ ctx, input }) => updateWebhookEndpoint(ctx.scope, input)),

  delete: adminProcedure
    .meta(
      rest('DELETE', '/webhook-endpoints/{webhookEndpointId}', 'Delete a webhook endpoint', {
        status: 204,
        description: 'Deletes its deliveries as well.',
      }),
    )
    .input(schema.WebhookEndpointRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteWebhookEndpoint(ctx.scope, input)),

  rotateSecret: adminProcedure
    .meta(
      rest('POST', '/webhook-endpoints/{webhookEndpointId}/rotate-secret', 'Rotate the secret of an endpoint', ROTATE),
    )
    .input(schema.RotateEndpointSecret)
    .output(schema.WebhookEndpointWithSecret)
    .mutation(({ ctx, input }) => rotateEndpointSecret(ctx.scope, input)),

  sendTest: adminProcedure
    .meta(rest('POST', '/webhook-endpoints/{webhookEndpointId}/test', 'Send a test event to an endpoint', TEST))
    .input(schema.WebhookEndpointRef)
    .output(schema.TestResult)
    .mutation(({ ctx, input }) => testEndpoint(ctx.scope, input)),

  recover: adminProcedure
    .meta(rest('POST', '/webhook-endpoints/{webhookEndpointId}/recover', 'Send missed events again', RECOVER))
    .input(schema.RecoverEvents)
    .output(Job)
    .mutation(({ ctx, input }) => recoverEvents(ctx.scope, input)),

  listDeliveries: adminProcedure
    .meta(
      rest('GET', '/webhook-endpoints/{webhookEndpointId}/deliveries', 'List deliveries of an endpoint', DELIVERIES),
    )
    .input(schema.ListDeliveries)
    .output(schema.WebhookDeliveryPage)
    .query(({ ctx, input }) => listDeliveries(ctx.scope, input)),
})

export const webhookDeliveriesRouter = router({
  get: adminProcedure
    .meta(rest('GET', '/webhook-deliveries/{webhookDeliveryId}', 'Get a delivery', DELIVERY))
    .input(schema.WebhookDeliveryRef)
    .output(schema.WebhookDelivery)
    .query(({ ctx, input }) => getWebhookDelivery(ctx.scope, input)),

  redeliver: adminProcedure
    .meta(rest('POST', '/webhook-deliveries/{webhookDeliveryId}/redeliver', 'Send an event once more', REDELIVER))
    .input(schema.WebhookDeliveryRef)
    .output(schema.WebhookDelivery)
    .mutation(({ ctx, input }) => redeliver(ctx.scope, input)),
})
