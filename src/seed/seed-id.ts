import { createHash } from 'node:crypto'

/** Start of the IDs that seeds choose: a minute of the time of UUIDs of version 7 in which no application ran. */
export const SEED_ID_PREFIX = '0199c0de-'

/** Returns the same ID for the same names, so that a seed that is executed again finds what it has inserted. */
export function toSeedId(...names: (string | number)[]): string {
  const digits = createHash('sha256').update(JSON.stringify(names)).digest('hex')
  const end = `${digits.slice(0, 4)}-7${digits.slice(4, 7)}-8${digits.slice(7, 10)}-${digits.slice(10, 22)}`
  return `${SEED_ID_PREFIX}${end}`
}
