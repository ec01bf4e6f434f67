import { randomFillSync } from 'node:crypto'
import { NIL } from 'uuid'
import { systemClock } from './time.ts'

/** ID that comes before all others. */
export const NIL_ID = NIL

/** Fetching random bytes costs more than the rest of an id, so they are fetched for many ids at once. */
const POOL_BYTES = 8190
/** Three for the start of a count, six for the end of the id. */
const RANDOM_BYTES = 9
const pool = Buffer.alloc(POOL_BYTES)
let used = POOL_BYTES

/** Ids of one millisecond count up from a random number, with room above it. `text` is the millisecond in the id. */
const COUNT_MAX = 2 ** 26
const last = { ms: 0, count: 0, text: '' }

/** Creates a UUIDv7. Ids of one process sort by time, so an index on `(tenant_id, id)` is also the order of creation. */
export function newId(): string {
  if (used + RANDOM_BYTES > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  advance(pool.readUIntBE(used, 3))
  const tail = pool.toString('hex', used + 3, used + RANDOM_BYTES)
  used += RANDOM_BYTES
  // 12 bits of the count are behind the version, 14 behind the variant.
  const high = (0x7000 | (last.count >>> 14)).toString(16)
  const low = (0x8000 | (last.count & 0x3fff)).toString(16)
  return `${last.text}-${high}-${low}-${tail}`
}

/** Keeps ids in order when the clock is set back. */
function advance(start: number): void {
  const now = systemClock.now().getTime()
  if (now > last.ms) {
    last.count = start
    setMs(now)
  } else {
    last.count += 1
    if (last.count < COUNT_MAX) return
    last.count = start
    setMs(last.ms + 1)
  }
}

function setMs(ms: number): void {
  const hex = ms.toString(16).padStart(12, '0')
  last.ms = ms
  last.text = `${hex.slice(0, 8)}-${hex.slice(8)}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(value: string): boolean {
  return UUID.test(value)
}
