import type { Scope } from '../../scope.ts'

/** What is absent stays; in `fields` null removes a key. */
export type ContactChange = {
  contactId: string
  values: {
    name?: string
    email?: string | null
    language?: string | null
    timezone?: string | null
    fields?: Record<string, unknown>
  }
}

/** Changes any number of contacts in one statement; several changes of one contact are laid over each other. */
export async function changeContacts(tx: Scope, changes: ContactChange[]): Promise<void> {
  if (changes.length === 0) return
  const merged = new Map<string, ContactChange['values']>()
  for (const { contactId, values } of changes) {
    const before = merged.get(contactId)
    merged.set(contactId, { ...before, ...values, fields: { ...before?.fields, ...values.fields } })
  }
  const rows = [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, values]) => ({ id, values }))
  await tx.db.raw(
    `update contacts c set name = coalesce(x.values ->> 'name', c.name),
       email = case when jsonb_exists(x.values, 'email') then x.values ->> 'email' else c.email end,
       language = case when jsonb_exists(x.values, 'language') then x.values ->> 'language' else c.language end,
       timezone = case when jsonb_exists(x.values, 'timezone') then x.values ->> 'timezone' else c.timezone end,
       fields = (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(c.fields || (x.values -> 'fields'))
         where value <> 'null'),
       updated_at = :now
     from jsonb_to_recordset(:given::jsonb) as x (id uuid, values jsonb)
     where c.tenant_id = :tenantId and c.id = x.id`,
    { given: JSON.stringify(rows), tenantId: tx.tenantId, now: tx.now() },
  )
  await tx.record(...rows.map(({ id }) => ({ type: 'contact.updated' as const, data: { contactId: id } })))
}
