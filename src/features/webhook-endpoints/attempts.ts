import type { WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import { LimitExceededError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertMayRead } from './changes.ts'
import { loadBodies, storeAttempt } from './deliveries.ts'
import { getDelivery, getEndpoint, getWebhookDelivery } from './queries.ts'
import { loadContents, NO_CONTENTS } from './resources.ts'
import type { TestResult, WebhookDelivery, WebhookDeliveryRef, WebhookEndpointRef } from './schema.ts'
import { EventSender, renderEvent, type Sent } from './send-event.ts'

/** Attempts of a workspace at once in a process: each may take 15 seconds. */
const PLACES = 4
const RETRY_AFTER_SECONDS = 5

/** Makes one attempt that a member has asked for. @throws LimitExceededError */
async function sendOnce(scope: Scope, endpoint: EndpointRow, eventId: string, body: string): Promise<Sent> {
  const places = scope.share('webhook attempts', (release) => ({ taken: 0, release }))
  if (places.taken === PLACES) {
    const message = `A workspace may have ${PLACES} tests and repetitions in progress. Wait for one of them`
    throw new LimitExceededError('too_many_attempts', message, RETRY_AFTER_SECONDS)
  }
  places.taken += 1
  const sender = new EventSender(scope, endpoint)
  try {
    return await sender.send({ eventId }, body)
  } finally {
    await sender.close()
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
  const { body } = renderEvent(endpoint, event, NO_CONTENTS)
  const { isDelivered, attempt } = await sendOnce(scope, endpoint, event.eventId, body)
  return { ...attempt, delivered: isDelivered }
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
  const contents = stored || endpoint.payload === 'thin' ? NO_CONTENTS : await loadContents(scope, [delivery])
  const { body } = stored ?? renderEvent(endpoint, delivery, contents)
  const sent = await sendOnce(scope, endpoint, delivery.eventId, body)
  await scope.transaction((tx) => storeAttempt(tx, delivery.id, sent))
  return getWebhookDelivery(scope, { webhookDeliveryId })
}
