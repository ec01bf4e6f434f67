import { randomFillSync } from 'node:crypto'
import { NIL, stringify } from 'uuid'
import { systemClock } from './time.ts'

/** ID that comes before all others. */
export const NIL_ID = NIL

/** Fetching random bytes costs more than the rest of an id, so they are fetched for many ids at once. */
const POOL_BYTES = 8192
const RANDOM_BYTES = 10
const pool = Buffer.alloc(POOL_BYTES)
let used = POOL_BYTES

/** Ids of one millisecond count up from a random number, with room above it. */
const COUNT_MAX = 2 ** 26
const last = { ms: 0, count: 0 }

/** Creates a UUIDv7. Ids of one process sort by time, so an index on `(tenant_id, id)` is also the order of creation. */
export function newId(): string {
  if (used + RANDOM_BYTES > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = new Uint8Array(16)
  bytes.set(pool.subarray(used, used + RANDOM_BYTES), 6)
  used += RANDOM_BYTES
  advance(((bytes[6] ?? 0) << 16) | ((bytes[7] ?? 0) << 8) | (bytes[8] ?? 0))
  writeTime(bytes)
  return stringify(bytes)
}

/** Keeps ids in order when the clock is set back. */
function advance(start: number): void {
  const now = systemClock.now().getTime()
  if (now > last.ms) {
    last.ms = now
    last.count = start
  } else {
    last.count += 1
    if (last.count < COUNT_MAX) return
    last.ms += 1
    last.count = start
  }
}

/** Writes 48 bits of time, then the count: 12 bits after the version, 14 after the variant. */
function writeTime(bytes: Uint8Array): void {
  const { ms, count } = last
  const high = Math.floor(ms / 2 ** 32)
  bytes.set([high >>> 8, high, ms >>> 24, ms >>> 16, ms >>> 8, ms])
  bytes.set([0x70 | (count >>> 22), count >>> 14, 0x80 | ((count >>> 8) & 0x3f), count], 6)
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(value: string): boolean {
  return UUID.test(value)
}
