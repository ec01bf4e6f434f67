import { v7 } from 'uuid'

/** A UUIDv7: ids made by one process sort by time, so an index on `(tenant_id, id)` is also the order of creation. */
export function newId(): string {
  return v7()
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(value: string): boolean {
  return UUID.test(value)
}
