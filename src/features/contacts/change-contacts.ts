import { isDeepStrictEqual } from 'node:util'
import { toRecordset } from '../../platform/database/sql.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { sortForLocking } from '../automation/lock-order.ts'
import { emitEvents } from '../automation/emit-events.ts'

/** Values that are left out stay as they are. A null in `fields` removes the key. */
export type ContactChange = {
  contactId: string
  values: {
    name?: string
    email?: string | null
    language?: string | null
    timezone?: string | null
    fields?: Record<string, unknown>
  }
  /** Number of runs in the cascade that led to the change. */
  depth: number
}

type Details = Record<string, unknown>

type Contact = Readonly<Record<string, unknown>>

/** Details of a contact: the property of the model, and the name that workflows use in `contact_updated` triggers. */
const DETAILS: [property: string, name: string][] = [
  ['name', 'name'],
  ['phone', 'phone'],
  ['email', 'email'],
  ['username', 'username'],
  ['language', 'language'],
  ['country', 'country'],
  ['timezone', 'timezone'],
  ['blocked', 'blocked'],
  ['externalId', 'externalId'],
  ['marketingConsent', 'consent'],
]

/**
 * Changes any number of contacts in one statement, and tells subscribers and workflows what differs. Several changes of one
 * contact are merged in order. The rows are locked before, so that what others change meanwhile is no difference. With
 * `tells: false` the caller has compared the contacts, which it has locked, and tells.
 */
export async function changeContacts(tx: Scope, changes: ContactChange[], { tells = true } = {}): Promise<void> {
  if (changes.length === 0) return
  const merged = new Map<string, ContactChange>()
  for (const { contactId, values, depth } of changes) {
    const previous = merged.get(contactId)?.values
    const fields = { ...previous?.fields, ...values.fields }
    merged.set(contactId, { contactId, values: { ...previous, ...values, fields }, depth })
  }
  const rows = sortForLocking([...merged.values()], ({ contactId }) => contactId)
  const input = sqlFragment`jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (contact_id uuid, values jsonb)`
  if (tells) await updateAndTell(tx, input, merged)
  else await tx.sql('updateContacts')`${updateSql(tx, input)}`
}

/** Custom fields that a change is not about are not read: they may be large, and are then stored apart from the row. */
function updateSql(tx: Scope, input: SqlFragment): SqlFragment {
  return sqlFragment`
    update contacts c set name = coalesce(x.values ->> 'name', c.name),
      email = case when jsonb_exists(x.values, 'email') then x.values ->> 'email' else c.email end,
      language = case when jsonb_exists(x.values, 'language') then x.values ->> 'language' else c.language end,
      timezone = case when jsonb_exists(x.values, 'timezone') then x.values ->> 'timezone' else c.timezone end,
      fields = case when x.values -> 'fields' = '{}' then c.fields
        else (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(c.fields || (x.values -> 'fields'))
          where value <> 'null') end,
      updated_at = ${tx.now()}
    from ${input} where c.tenant_id = ${tx.tenantId} and c.id = x.contact_id`
}

async function updateAndTell(tx: Scope, input: SqlFragment, changes: Map<string, ContactChange>): Promise<void> {
  const changed = await tx.sql<{ contactId: string; previous: Details; updated: Details }>('changeContacts')`
    with input as (select * from ${input}),
     previous as (
       select c.id, c.name, c.email, c.language, c.timezone, c.fields from contacts c
       where c.tenant_id = ${tx.tenantId} and c.id in (select contact_id from input)
       order by c.id for no key update),
     updated as (${updateSql(tx, sqlFragment`input x join previous p on p.id = x.contact_id`)}
       returning c.id, c.name, c.email, c.language, c.timezone, c.fields)
     select id as contact_id, to_jsonb(previous) as previous, to_jsonb(updated) as updated
     from previous join updated using (id) order by id`
  const differing = changed.flatMap(({ contactId, previous, updated }) => {
    const fields = diffDetails(previous, updated)
    return fields.length > 0 ? [{ contactId, fields }] : []
  })
  await tx.record(...differing.map(({ contactId, fields }) => updatedEvent(contactId, fields)))
  await emitEvents(
    tx,
    differing.map(({ contactId, fields }) => {
      const depth = changes.get(contactId)?.depth ?? 0
      return { contactId, depth, event: { type: 'contact_updated' as const, fields } }
    }),
  )
}

/** Returns the event of a change of details: it names `fields` for all custom fields, whose keys may tell of a person. */
export function updatedEvent(contactId: string, details: readonly string[]) {
  const changed = [...new Set(details.map((detail) => (detail.startsWith('fields.') ? 'fields' : detail)))]
  return { type: 'contact.updated' as const, data: { contactId, changed } }
}

/** Lists the details that differ, as `email` or `fields.plan`. */
export function diffDetails(previous: Contact, updated: Contact): string[] {
  const details = DETAILS.filter(([property]) => isDifferent(previous[property], updated[property]))
  const [previousFields, updatedFields] = [customFields(previous), customFields(updated)]
  const keys = new Set([...previousFields.keys(), ...updatedFields.keys()])
  const fields = [...keys].filter((key) => isDifferent(previousFields.get(key), updatedFields.get(key)))
  return [...details.map(([, name]) => name), ...fields.map((key) => `fields.${key}`)]
}

/** Most values are texts, of which a comparison of structures takes longer. */
function isDifferent(value: unknown, other: unknown): boolean {
  return value !== other && !isDeepStrictEqual(value, other)
}

function customFields({ fields }: Contact): Map<string, unknown> {
  return new Map(typeof fields === 'object' && fields !== null ? Object.entries(fields) : [])
}
