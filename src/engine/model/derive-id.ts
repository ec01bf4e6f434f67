import { createHash } from 'node:crypto'
import { stringify } from 'uuid'

const V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i

/**
 * Derives the id of the nth object that a run creates: a UUIDv7 that depends on the arguments alone, so that deciding
 * again gives the same ids. Within a millisecond the ids of a run sort by `nth`.
 */
export function deriveId(runId: string, nth: number, ms: number): string {
  const bytes = createHash('sha256').update(`${runId}:${nth}`).digest().subarray(0, 16)
  bytes.writeUIntBE(ms, 0, 6)
  bytes.writeUInt16BE(0x7000 | (nth & 0x0fff), 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  return stringify(bytes)
}

const COUNT_BITS = 26

/**
 * Returns an id that sorts right after `previous`, by the bits that are the time and the count in it; the others are
 * those of `random`. An order that is made so does not depend on a clock.
 */
export function idAfter(previous: string, random: string): string {
  const [bytes, rest] = [previous, random].map((id) => Buffer.from(id.replaceAll('-', ''), 'hex'))
  if (!bytes || !rest || bytes.length !== rest.length) return random
  const count = ((bytes.readUInt16BE(6) & 0x0fff) << 14) + (bytes.readUInt16BE(8) & 0x3fff) + 1
  rest.writeUIntBE(bytes.readUIntBE(0, 6) + Math.floor(count / 2 ** COUNT_BITS), 0, 6)
  rest.writeUInt16BE(0x7000 | ((count >>> 14) & 0x0fff), 6)
  rest.writeUInt16BE(0x8000 | (count & 0x3fff), 8)
  return stringify(rest)
}

/** Reads the time of a UUIDv7. */
export function idTimestamp(id: string): number | undefined {
  const [, high, low] = V7.exec(id) ?? []
  return high && low ? Number.parseInt(high + low, 16) : undefined
}
