import { ContactTag } from '../../models/contact-tag.ts'
import { Tag } from '../../models/tag.ts'
import type { Scope } from '../../scope.ts'
import { ensureTags } from '../tags/ensure-tags.ts'

/** Adding a tag twice leaves one tag; names that are no tag yet become one. */
export async function addTags(tx: Scope, contactId: string, names: string[]): Promise<void> {
  if (names.length === 0) return
  const tagIds = await ensureTags(tx, names)
  const rows = tagIds.map((tagId) => ({ contactId, tagId, createdAt: tx.now() }))
  await tx.query(ContactTag).insert(rows).onConflict().ignore()
}

export async function removeTags(tx: Scope, contactId: string, names: string[]): Promise<void> {
  if (names.length === 0) return
  const lower = names.map((name) => name.toLowerCase())
  const named = tx.query(Tag).select('id').whereRaw('lower(name) = any(?)', [lower])
  await tx.query(ContactTag).delete().where({ contactId }).whereIn('tagId', named)
}

export async function replaceTags(tx: Scope, contactId: string, names: string[]): Promise<void> {
  await tx.query(ContactTag).delete().where({ contactId })
  await addTags(tx, contactId, names)
}
