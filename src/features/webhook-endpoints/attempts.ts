import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadBodies, storeAttempt } from './deliveries.ts'
import { getDelivery, getEndpoint, getWebhookDelivery } from './queries.ts'
import { loadResources } from './resources.ts'
import type { TestResult, WebhookDelivery, WebhookDeliveryRef, WebhookEndpointRef } from './schema.ts'
import { EventSender, renderEvent } from './send-event.ts'

/** Sends an event that says no more than that it is a test, whatever the types of the endpoint are. It is not recorded. */
export async function testEndpoint(scope: Scope, { webhookEndpointId }: WebhookEndpointRef): Promise<TestResult> {
  const endpoint = await getEndpoint(scope, webhookEndpointId)
  const event = {
    eventId: newId(),
    type: 'webhook_endpoint.tested',
    data: { webhookEndpointId: endpoint.id },
    position: null,
    eventAt: scope.now(),
  }
  const sender = new EventSender(scope, endpoint)
  try {
    const { isDelivered, attempt } = await sender.send(event, renderEvent(endpoint, event, new Map()).body)
    return { ...attempt, delivered: isDelivered }
  } finally {
    await sender.close()
  }
}

/**
 * Sends an event once more, with its ID and, while it waits for a retry, the same body. Neither a success nor a failure
 * changes what is known of the endpoint.
 * @throws NotFoundError
 */
export async function redeliver(scope: Scope, { webhookDeliveryId }: WebhookDeliveryRef): Promise<WebhookDelivery> {
  const delivery = await getDelivery(scope, webhookDeliveryId)
  const endpoint = await getEndpoint(scope, delivery.endpointId)
  const stored = (await loadBodies(scope, [delivery.id])).get(delivery.id)
  const resources = stored || endpoint.payload === 'thin' ? new Map() : await loadResources(scope, [delivery])
  const { body } = stored ?? renderEvent(endpoint, delivery, resources)
  const sender = new EventSender(scope, endpoint)
  try {
    const sent = await sender.send(delivery, body)
    await scope.transaction((tx) => storeAttempt(tx, delivery.id, sent))
  } finally {
    await sender.close()
  }
  return getWebhookDelivery(scope, { webhookDeliveryId })
}
