import { isCustomEvent } from '../../scope/event-types.ts'
import { isOfNoDeletedContactSql } from '../../scope/deleted-contacts.ts'
import type { Scope } from '../../scope/scope.ts'

/** The data that the sender of a custom event gave, as readers see them. */
export type Payload = Record<string, unknown>

/** An event of which a payload may be kept. */
type EventRef = { id: string; type: string }

/** Reads the payloads of events, by the IDs of these. One is missing if it was not given, or its contact was deleted. */
export async function loadPayloads(scope: Scope, events: readonly EventRef[]): Promise<ReadonlyMap<string, Payload>> {
  const ids = events.flatMap(({ id, type }) => (isCustomEvent(type) ? id : []))
  if (ids.length === 0) return new Map()
  const rows = await scope.sql<{ eventId: string; payload: Payload }>('loadPayloads')`
    select p.event_id, p.payload from event_payloads p
    where p.tenant_id = ${scope.tenantId} and p.event_id = any(${ids}::uuid[])
      and ${isOfNoDeletedContactSql(scope.tenantId, 'p')}`
  return new Map(rows.map(({ eventId, payload }) => [eventId, payload]))
}

/** Returns the field that custom events have, and no others. */
export function toPayloadField(
  { id, type }: EventRef,
  payloads: ReadonlyMap<string, Payload>,
): { payload?: Payload | null } {
  return isCustomEvent(type) ? { payload: payloads.get(id) ?? null } : {}
}

/** Adds the payloads that the caller may read. Those of contacts are personal: keys need the scope that contacts need. */
export async function addPayloads<T extends EventRef>(
  scope: Scope,
  events: readonly T[],
): Promise<(T & { payload?: Payload | null })[]> {
  const payloads = mayReadPayloads(scope) ? await loadPayloads(scope, events) : new Map<string, Payload>()
  return events.map((event) => ({ ...event, ...toPayloadField(event, payloads) }))
}

export function mayReadPayloads({ actor }: Scope): boolean {
  return actor.type !== 'key' || actor.scopes.has('contacts:read')
}
