import { createHash } from 'node:crypto'
import { sortKeys } from '../../platform/sort-keys.ts'

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
