import type { Scope } from '../../scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { ensureTags } from '../tags/ensure-tags.ts'

/** `depth`: how many runs stand between the change and what a person or the outside did. */
export type TagChange = { contactId: string; tag: string; isAdded: boolean; depth?: number }

/**
 * Adds and removes tags of any number of contacts in a few statements. Adding a tag twice leaves one tag, names that are
 * no tag yet become one, and of several changes of one tag of one contact the last one counts.
 */
export async function changeTags(tx: Scope, changes: TagChange[]): Promise<void> {
  const last = [
    ...new Map(changes.map((change) => [`${change.contactId} ${change.tag.toLowerCase()}`, change])).values(),
  ]
  const added = last.filter(({ isAdded }) => isAdded)
  const removed = last.filter(({ isAdded }) => !isAdded)
  if (added.length > 0) {
    // All spellings in their order: the first one of a new tag stays.
    const ids = await ensureTags(
      tx,
      changes.filter(({ isAdded }) => isAdded).map(({ tag }) => tag),
    )
    const rows = added.flatMap((change) => {
      const tagId = ids.get(change.tag.toLowerCase())
      return tagId ? [{ ...change, tagId }] : []
    })
    const fresh = await insertTags(tx, rows)
    await raiseEvents(tx, rows.filter((row) => fresh.has(`${row.contactId} ${row.tagId}`)).map(addedEvent))
  }
  if (removed.length > 0) await raiseEvents(tx, (await deleteTags(tx, removed)).map(removedEvent))
}

/** Those that were there. */
async function deleteTags(tx: Scope, changes: TagChange[]): Promise<Omit<TagChange, 'isAdded'>[]> {
  const { rows } = await tx.db.raw<{ rows: Omit<TagChange, 'isAdded'>[] }>(
    `delete from contact_tags ct using tags t, jsonb_to_recordset(?::jsonb) as x ("contactId" uuid, tag text, depth int)
     where ct.tenant_id = ? and ct.contact_id = x."contactId" and t.tenant_id = ct.tenant_id and t.id = ct.tag_id
       and lower(t.name) = lower(x.tag)
     returning ct.contact_id as "contactId", t.name as tag, coalesce(x.depth, 0) as depth`,
    [JSON.stringify(changes), tx.tenantId],
  )
  return rows
}

/** Which of them were not there before, as `contactId tagId`. */
async function insertTags(tx: Scope, rows: { contactId: string; tagId: string }[]): Promise<Set<string>> {
  const inserted = (await tx
    .db('contact_tags')
    .insert(
      rows.map(({ contactId, tagId }) => ({
        tenant_id: tx.tenantId,
        contact_id: contactId,
        tag_id: tagId,
        created_at: tx.now(),
      })),
    )
    .onConflict()
    .ignore()
    .returning(['contact_id', 'tag_id'])) as { contact_id: string; tag_id: string }[]
  return new Set(inserted.map(({ contact_id, tag_id }) => `${contact_id} ${tag_id}`))
}

function addedEvent({ contactId, tag, depth = 0 }: TagChange) {
  return { contactId, depth, event: { type: 'tag_added' as const, tag } }
}

function removedEvent({ contactId, tag, depth = 0 }: Omit<TagChange, 'isAdded'>) {
  return { contactId, depth, event: { type: 'tag_removed' as const, tag } }
}

export async function replaceTags(tx: Scope, contactId: string, names: string[]): Promise<void> {
  const { rows } = await tx.db.raw<{ rows: { tag: string }[] }>(
    `select t.name as tag from contact_tags ct join tags t on t.tenant_id = ct.tenant_id and t.id = ct.tag_id
     where ct.tenant_id = ? and ct.contact_id = ? and lower(t.name) <> all(?)`,
    [tx.tenantId, contactId, names.map((name) => name.toLowerCase())],
  )
  await changeTags(tx, [
    ...rows.map(({ tag }) => ({ contactId, tag, isAdded: false })),
    ...names.map((tag) => ({ contactId, tag, isAdded: true })),
  ])
}
