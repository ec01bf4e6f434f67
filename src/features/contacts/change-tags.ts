import { ContactTag } from '../../models/contact-tag.ts'
import type { Scope } from '../../scope.ts'
import { ensureTags } from '../tags/ensure-tags.ts'

export type TagChange = { contactId: string; tag: string; isAdded: boolean }

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
    const rows = added.flatMap(({ contactId, tag }) => {
      const tagId = ids.get(tag.toLowerCase())
      return tagId ? [{ contactId, tagId, createdAt: tx.now() }] : []
    })
    await tx.query(ContactTag).insert(rows).onConflict().ignore()
  }
  if (removed.length > 0) {
    await tx.db.raw(
      `delete from contact_tags ct using tags t, jsonb_to_recordset(?::jsonb) as x ("contactId" uuid, tag text)
       where ct.tenant_id = ? and ct.contact_id = x."contactId" and t.tenant_id = ct.tenant_id and t.id = ct.tag_id
         and lower(t.name) = lower(x.tag)`,
      [JSON.stringify(removed), tx.tenantId],
    )
  }
}

export async function replaceTags(tx: Scope, contactId: string, names: string[]): Promise<void> {
  await tx.query(ContactTag).delete().where({ contactId })
  await changeTags(
    tx,
    names.map((tag) => ({ contactId, tag, isAdded: true })),
  )
}
