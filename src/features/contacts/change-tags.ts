import { toRecordset } from '../../platform/database/sql.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import type { Scope } from '../../scope/scope.ts'
import { emitEvents } from '../automation/emit-events.ts'
import { ensureTags } from '../tags/ensure-tags.ts'

/** `depth` is the number of runs in the cascade that led to the change; 0 if a person or an external system made it. */
export type TagChange = { contactId: string; tag: string; isAdded: boolean; depth?: number }

/**
 * Adds and removes tags of any number of contacts in a few statements. Adding a tag that a contact already has changes
 * nothing, a missing tag is created, and the last of several changes to the same tag of a contact wins. Workflows do not react
 * unless `emits` is true. Returns the contacts that have other tags now.
 */
export async function changeTags(tx: Scope, changes: TagChange[], { emits = true } = {}): Promise<Set<string>> {
  const changed = new Set<string>()
  const last = [
    ...new Map(changes.map((change) => [`${change.contactId} ${change.tag.toLowerCase()}`, change])).values(),
  ]
  const additions = last.filter(({ isAdded }) => isAdded)
  const removals = last.filter(({ isAdded }) => !isAdded)
  if (additions.length > 0) {
    // All spellings in their order, because a tag that is created is spelled like its first addition.
    const ids = await ensureTags(
      tx,
      changes.filter(({ isAdded }) => isAdded).map(({ tag }) => tag),
    )
    const rows = additions.flatMap((change) => {
      const tagId = ids.get(change.tag.toLowerCase())
      return tagId ? [{ ...change, tagId }] : []
    })
    const inserted = await insertTags(tx, rows)
    const added = rows.filter(({ contactId, tagId }) => inserted.has(`${contactId} ${tagId}`))
    for (const { contactId } of added) changed.add(contactId)
    if (emits) await emitEvents(tx, added.map(addedEvent))
  }
  if (removals.length === 0) return changed
  const removed = await deleteTags(tx, removals)
  for (const { contactId } of removed) changed.add(contactId)
  if (emits) await emitEvents(tx, removed.map(removedEvent))
  return changed
}

/** Returns the tags that were removed. */
async function deleteTags(tx: Scope, changes: TagChange[]): Promise<Omit<TagChange, 'isAdded'>[]> {
  return tx.sql<Omit<TagChange, 'isAdded'>>('deleteTags')`
    delete from contact_tags ct using tags t, jsonb_to_recordset(${toRecordset(changes)}::jsonb) as x (contact_id uuid, tag text, depth int)
     where ct.tenant_id = ${tx.tenantId} and ct.contact_id = x.contact_id and t.tenant_id = ${tx.tenantId} and t.id = ct.tag_id
       and lower(t.name) = lower(x.tag)
     returning ct.contact_id, t.name as tag, coalesce(x.depth, 0) as depth`
}

/** Returns the inserted pairs as `contactId tagId`. */
async function insertTags(tx: Scope, rows: { contactId: string; tagId: string }[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set()
  const links = rows.map(({ contactId, tagId }) => ({ contactId, tagId, createdAt: tx.now() }))
  const inserted = await tx.sql<{ contactId: string; tagId: string }>('insertTags')`
    ${insertRowsSql('contact_tags', tx.tenantId, links)} on conflict do nothing returning contact_id, tag_id`
  return new Set(inserted.map(({ contactId, tagId }) => `${contactId} ${tagId}`))
}

function addedEvent({ contactId, tag, depth = 0 }: TagChange) {
  return { contactId, depth, event: { type: 'tag_added' as const, tag } }
}

function removedEvent({ contactId, tag, depth = 0 }: Omit<TagChange, 'isAdded'>) {
  return { contactId, depth, event: { type: 'tag_removed' as const, tag } }
}

/** Replaces all tags of a contact with `names`. Returns true if it has other tags now. */
export async function replaceTags(tx: Scope, contactId: string, names: string[]): Promise<boolean> {
  const obsolete = await tx.sql<{ tag: string }>('replaceTags')`
    select t.name as tag from contact_tags ct join tags t on t.tenant_id = ${tx.tenantId} and t.id = ct.tag_id
     where ct.tenant_id = ${tx.tenantId} and ct.contact_id = ${contactId} and lower(t.name) <> all(${names.map((name) => name.toLowerCase())})`
  const changed = await changeTags(tx, [
    ...obsolete.map(({ tag }) => ({ contactId, tag, isAdded: false })),
    ...names.map((tag) => ({ contactId, tag, isAdded: true })),
  ])
  return changed.has(contactId)
}
