import type { Scope } from '../../scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { diffDetails } from './diff-details.ts'

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
  /** How many runs stand between the change and what a person or the outside did. */
  depth: number
}

type Details = Record<string, unknown>

/** Changes any number of contacts in one statement; several changes of one contact are laid over each other. */
export async function changeContacts(tx: Scope, changes: ContactChange[]): Promise<void> {
  if (changes.length === 0) return
  const merged = new Map<string, ContactChange['values']>()
  const depths = new Map<string, number>()
  for (const { contactId, values, depth } of changes) {
    const before = merged.get(contactId)
    depths.set(contactId, depth)
    merged.set(contactId, { ...before, ...values, fields: { ...before?.fields, ...values.fields } })
  }
  const rows = [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, values]) => ({ id, values }))
  const changed = await tx.db.raw<{ rows: { contactId: string; before: Details; after: Details }[] }>(
    `with given as (select * from jsonb_to_recordset(:given::jsonb) as g (id uuid, values jsonb)),
     before as (
       select c.id, c.name, c.email, c.language, c.timezone, c.fields from contacts c
       where c.tenant_id = :tenantId and c.id in (select id from given)),
     after as (
     update contacts c set name = coalesce(x.values ->> 'name', c.name),
       email = case when jsonb_exists(x.values, 'email') then x.values ->> 'email' else c.email end,
       language = case when jsonb_exists(x.values, 'language') then x.values ->> 'language' else c.language end,
       timezone = case when jsonb_exists(x.values, 'timezone') then x.values ->> 'timezone' else c.timezone end,
       fields = (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(c.fields || (x.values -> 'fields'))
         where value <> 'null'),
       updated_at = :now
     from given x where c.tenant_id = :tenantId and c.id = x.id
     returning c.id, c.name, c.email, c.language, c.timezone, c.fields)
     select id as "contactId", to_jsonb(before) as before, to_jsonb(after) as after
     from before join after using (id) order by id`,
    { given: JSON.stringify(rows), tenantId: tx.tenantId, now: tx.now() },
  )
  await tx.record(...rows.map(({ id }) => ({ type: 'contact.updated' as const, data: { contactId: id } })))
  await raiseEvents(
    tx,
    changed.rows.flatMap(({ contactId, before, after }) => {
      const fields = diffDetails(before, after)
      const depth = depths.get(contactId) ?? 0
      return fields.length > 0 ? [{ contactId, depth, event: { type: 'contact_updated' as const, fields } }] : []
    }),
  )
}
