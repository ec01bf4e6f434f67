export type ContactFields = Record<string, unknown>

/** Bytes of the custom fields of a contact as JSON. Lists have up to 100 contacts with them. */
const FIELDS_BYTES_MAX = 64 * 1024

export const FIELDS_TOO_LARGE = 'must have at most 64 KB as JSON'

/** Merges changes into custom fields; null removes a field. Undefined if they would grow above the limit. */
export function mergeFields(existing: ContactFields, changes: ContactFields): ContactFields | undefined {
  const all = new Map([...Object.entries(existing), ...Object.entries(changes)])
  const merged = Object.fromEntries([...all].filter(([, value]) => value !== null))
  // Fields that are above it already may shrink step by step.
  return areFieldsBounded(merged) || jsonBytes(merged) < jsonBytes(existing) ? merged : undefined
}

export function areFieldsBounded(fields: ContactFields): boolean {
  return jsonBytes(fields) <= FIELDS_BYTES_MAX
}

function jsonBytes(fields: ContactFields): number {
  return Buffer.byteLength(JSON.stringify(fields))
}
