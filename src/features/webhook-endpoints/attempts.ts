import { LimitExceededError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertMayRead } from './changes.ts'
import { loadBodies, storeAttempt } from './deliveries.ts'
import { getDelivery, getEndpoint, getWebhookDelivery } from './queries.ts'
import { loadResources } from './resources.ts'
import type { TestResult, WebhookDelivery, WebhookDeliveryRef, WebhookEndpointRef } from './schema.ts'
import { EventSender, renderEvent } from './send-event.ts'

/** Attempts of a workspace at once in a process: each may take 15 seconds. */
const PLACES = 4
const RETRY_AFTER_SECONDS = 5

/** Returns the function that gives the place back. @throws LimitExceededError */
function takePlace(scope: Scope): () => void {
  const places = scope.share('webhook attempts', (release) => ({ taken: 0, release }))
  if (places.taken === PLACES) {
    const message = `A workspace may have ${PLACES} tests and repetitions in progress. Wait for one of them`
    throw new LimitExceededError('too_many_attempts', message, RETRY_AFTER_SECONDS)
  }
  places.taken += 1
  return () => {
    places.taken -= 1
    if (places.taken === 0) places.release()
  }
}

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
  const free = takePlace(scope)
  const sender = new EventSender(scope, endpoint)
  try {
    const { isDelivered, attempt } = await sender.send(event, renderEvent(endpoint, event, new Map()).body)
    return { ...attempt, delivered: isDelivered }
  } finally {
    await sender.close()
    free()
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
  assertMayRead(scope, { types: [delivery.type], payload: 'full' })
  const stored = (await loadBodies(scope, [delivery.id])).get(delivery.id)
  const resources = stored || endpoint.payload === 'thin' ? new Map() : await loadResources(scope, [delivery])
  const { body } = stored ?? renderEvent(endpoint, delivery, resources)
  const free = takePlace(scope)
  const sender = new EventSender(scope, endpoint)
  try {
    const sent = await sender.send(delivery, body)
    await scope.transaction((tx) => storeAttempt(tx, delivery.id, sent))
  } finally {
    await sender.close()
    free()
  }
  return getWebhookDelivery(scope, { webhookDeliveryId })
}
