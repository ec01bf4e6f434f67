import type { WebhookDelivery as DeliveryRow, WebhookEndpoint as EndpointRow } from '../../models/automation.ts'
import type { Job, JobControl } from '../../platform/jobs/job-queue.ts'
import { addMs, SECOND } from '../../platform/time.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { lastPosition } from '../live/event-feed.ts'
import { deliverWebhooksJob } from './jobs.ts'
import { FAILURES_MIN, loadBodies, type SentDelivery } from './deliveries.ts'
import { type DuePortion, readDuePortion } from './due-events.ts'
import { recordPortion, type SentPortion } from './record-portion.ts'
import { type Contents, countLoadable, loadContents, NO_CONTENTS } from './resources.ts'
import { ANSWER_MAX_MS, EventSender, renderEvent, type Sent, type SentEvent } from './send-event.ts'

/** Events whose contents are read together, if these are not too large. They are in memory with those of the next ones. */
const LOADED_MAX = 100
/** Failures of a portion, whose bodies are in memory until they are stored. */
const FAILED_MAX = 25
/** Size of these bodies at which no further event of a portion is sent. */
const FAILED_BYTES_MAX = 1024 * 1024
/** No further event of a portion is sent after this time, so that its results are stored soon. */
const PORTION_MS = 5 * SECOND
/** A portion ends in less time, with its last send. */
const ENDPOINT_LEASE_MS = 30 * SECOND
/** A lease that is older is renewed before events are sent, as reading them may have taken long. */
const RENEWED_MS = 3 * SECOND
/** Nothing is sent with a lease that is older: its rest is longer than a send. */
const SENDING_MS = ENDPOINT_LEASE_MS - ANSWER_MAX_MS - 2 * SECOND
/** A job leaves its place to other endpoints after this time. */
const JOB_MS = 20 * SECOND

/** The claim of an endpoint by this process. Its lease began at `claimedMs`. */
type Claim = { scope: Scope; endpoint: EndpointRow; sender: EventSender; claimedMs: number; control: JobControl }

/**
 * Sends the events after the position of an endpoint, in their order, and those that are due again. What was sent is
 * recorded after it, so an event whose process ends in between is sent again, with the same ID. A failed event does not
 * hold up the later ones.
 */
export async function deliverEvents(
  system: SystemScope,
  { tenantId, key: endpointId }: Pick<Job, 'tenantId' | 'key'>,
  control: JobControl = {},
): Promise<void> {
  const { signal } = control
  const scope = system.forTenant(tenantId)
  const startedMs = performance.now()
  let claimedMs = startedMs
  let endpoint = await claim(scope, endpointId)
  if (!endpoint) return
  const sender = new EventSender(scope, endpoint, signal)
  try {
    const last = await lastPosition(scope)
    while (endpoint) {
      const due = await readDuePortion(scope, endpoint, last)
      const portion = await sendPortion({ scope, endpoint, sender, claimedMs, control }, due)
      if (!portion) return
      const isOver = signal?.aborted === true || performance.now() - startedMs > JOB_MS
      claimedMs = performance.now()
      const leasedUntil = isOver ? null : addMs(scope.now(), ENDPOINT_LEASE_MS)
      endpoint = await recordPortion(scope, endpoint, portion, leasedUntil)
      if (endpoint && isOver) return scope.enqueue(deliverWebhooksJob(tenantId, endpointId))
      if (endpoint) sender.signAs(endpoint)
    }
  } finally {
    await sender.close()
  }
}

/** Claims an endpoint, unless another process sends to it, it has to wait or the workspace was deleted. */
async function claim(scope: Scope, endpointId: string): Promise<EndpointRow | undefined> {
  const now = scope.now()
  const [row] = await scope.sql<EndpointRow>('claimEndpoint')`
    update webhook_endpoints e set leased_until = ${addMs(now, ENDPOINT_LEASE_MS)}, claim_count = e.claim_count + 1
    where e.tenant_id = ${scope.tenantId} and e.id = ${endpointId} and e.status = 'enabled'
      and coalesce(e.leased_until, '-infinity') <= ${now} and coalesce(e.paused_until, '-infinity') <= ${now}
      and ${isOpenSql(scope.tenantId)}
    returning e.*`
  return row
}

/** Returns undefined if the claim was lost meanwhile. */
async function sendPortion(claimed: Claim, { retries, events, ...due }: DuePortion): Promise<SentPortion | undefined> {
  if (performance.now() - claimed.claimedMs > RENEWED_MS && !(await renew(claimed))) return undefined
  const [first, again] = await Promise.all([sendInOrder(claimed, events), sendAgain(claimed, retries)])
  const isPart = first.length < events.length
  return {
    ...due,
    results: [...first, ...again],
    position: isPart ? (first.at(-1)?.event.position ?? claimed.endpoint.position) : due.end,
    hasMore: due.hasMore || isPart,
  }
}

/** Extends the lease by the time that the sends may take. Returns false if it was lost. */
async function renew(claimed: Claim): Promise<boolean> {
  const { scope, endpoint } = claimed
  const { id, claimCount } = endpoint
  const startedMs = performance.now()
  const renewed = await scope.sql('renewClaim')`
    update webhook_endpoints e set leased_until = ${addMs(scope.now(), ENDPOINT_LEASE_MS)}
    where e.tenant_id = ${scope.tenantId} and e.id = ${id} and e.claim_count = ${claimCount} and e.status = 'enabled'
    returning 1`
  claimed.claimedMs = startedMs
  return renewed.length > 0
}

/** Sends events one by one, until the receiver asks for a pause, fails several times or takes long. */
async function sendInOrder(claimed: Claim, events: readonly SentEvent[]): Promise<SentDelivery[]> {
  const { endpoint, sender, control } = claimed
  const results: SentDelivery[] = []
  const startedMs = performance.now()
  let failures = 0
  let failed = 0
  let failedBytes = 0
  let contents = NO_CONTENTS
  let next = loadNext(claimed, events)
  for (const [index, event] of events.entries()) {
    if (index === next.start) {
      try {
        contents = await next.loaded
      } catch (error) {
        // What was sent is recorded first.
        if (results.length === 0) throw error
        break
      }
      next = loadNext(claimed, events, next.end)
    }
    await control.giveWay?.()
    if (!maySend(claimed)) break
    const rendered = renderEvent(endpoint, event, contents)
    const sent = await sender.send(event, rendered.body)
    if (isCutOff(sent, control)) break
    results.push({ event, rendered: sent.isDelivered ? undefined : rendered, isKept: false, delivery: undefined, sent })
    if (sent.isDelivered) failures = 0
    else {
      failures += 1
      failed += 1
      failedBytes += Buffer.byteLength(rendered.body)
    }
    const isStopped = sent.pausedUntil !== null || sent.isGone || control.signal?.aborted === true
    if (isStopped || failures === FAILURES_MIN || failed === FAILED_MAX || failedBytes >= FAILED_BYTES_MAX) break
    if (performance.now() - startedMs > PORTION_MS) break
  }
  return results
}

/** Sends deliveries again at once, with the bodies of their first attempts where they are kept. */
async function sendAgain(claimed: Claim, retries: readonly DeliveryRow[]): Promise<SentDelivery[]> {
  if (retries.length === 0) return []
  const { scope, endpoint, sender, control } = claimed
  const bodies = await loadBodies(
    scope,
    retries.map(({ id }) => id),
  )
  const contents = await load(
    claimed,
    retries.filter(({ id }) => !bodies.has(id)),
  )
  await control.giveWay?.()
  if (!maySend(claimed)) return []
  const results = retries.map(async (delivery): Promise<SentDelivery[]> => {
    const body = bodies.get(delivery.id)
    const rendered = body ?? renderEvent(endpoint, delivery, contents)
    const sent = await sender.send(delivery, rendered.body)
    return isCutOff(sent, control) ? [] : [{ event: delivery, rendered, isKept: body !== undefined, delivery, sent }]
  })
  return (await Promise.all(results)).flat()
}

/** Contents of the events from `start` to before `end`, which are loaded while those before them are sent. */
type NextContents = { start: number; end: number; loaded: Promise<Contents> }

function loadNext(claimed: Claim, events: readonly SentEvent[], start = 0): NextContents {
  const end = start + countLoadable(events.slice(start, start + LOADED_MAX))
  const loaded = load(claimed, events.slice(start, end))
  // Without a further event, nobody waits for it.
  loaded.catch(() => undefined)
  return { start, end, loaded }
}

function load({ scope, endpoint }: Claim, events: readonly SentEvent[]): Promise<Contents> {
  return endpoint.payload === 'full' ? loadContents(scope, events) : Promise.resolve(NO_CONTENTS)
}

/** Returns false if a send might take longer than the lease. */
function maySend({ claimedMs }: Claim): boolean {
  return performance.now() - claimedMs < SENDING_MS
}

/** A send that the end of the process has cut off is no attempt: another process makes it. */
function isCutOff({ isDelivered }: Sent, { signal }: JobControl): boolean {
  return signal?.aborted === true && !isDelivered
}
