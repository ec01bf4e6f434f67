/**
 * A kept number of rows. The contacts, conversations, groups and broadcasts of a workspace have one counter each, and so have
 * the contacts of each tag and group, whose ID is `ownerId`.
 */
export type Counter =
  | { counter: 'contacts' | 'conversations' | 'groups' | 'broadcasts' }
  | { counter: 'group_contacts' | 'tag_contacts'; ownerId: string }

export type CountChange = Counter & { delta: number }

/** Returns the ID that a counter is stored under: for a total of the workspace its own. */
export function toOwnerId(tenantId: string, counter: Counter): string {
  return 'ownerId' in counter ? counter.ownerId : tenantId
}
