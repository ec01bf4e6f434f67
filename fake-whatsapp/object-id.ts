import { randomBytes } from 'node:crypto'

/** Returns an ID as those of the Graph API: up to 15 digits. */
export function newObjectId(): string {
  return String(100_000_000_000_000 + (randomBytes(6).readUIntBE(0, 6) % 800_000_000_000_000))
}
