import { createHash } from 'node:crypto'

/**
 * Hashes the behaviour of a definition: the order of keys and `ui` do not matter. Accepts drafts of any form, valid or
 * not.
 */
export function definitionHash(definition: Record<string, unknown>): string {
  const { ui: _, ...behaviour } = definition
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(behaviour)))
    .digest('hex')
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  // Object.fromEntries defines its keys, so that one named __proto__ is a key like any other.
  const entries = Object.entries(value).map(([key, child]): [string, unknown] => [key, sortKeys(child)])
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
