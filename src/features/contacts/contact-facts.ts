import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'

/** Facts of the contact `c` that placeholders such as `{{contact.name}}` read. */
export function contactFactsSql(tenantId: string): SqlFragment {
  return sqlFragment`jsonb_build_object('id', c.id, 'name', c.name, 'phone', c.phone, 'email', c.email,
  'language', c.language, 'country', c.country, 'timezone', c.timezone, 'fields', c.fields, 'blocked', c.blocked,
  'consent', jsonb_build_object('marketing', c.marketing_consent, 'service', c.service_consent),
  'tags', coalesce((select jsonb_agg(t.name order by lower(t.name)) from contact_tags ct
    join tags t on t.tenant_id = ${tenantId} and t.id = ct.tag_id
    where ct.tenant_id = ${tenantId} and ct.contact_id = c.id), '[]'),
  'groupIds', coalesce((select jsonb_agg(gc.group_id) from group_contacts gc
    where gc.tenant_id = ${tenantId} and gc.contact_id = c.id), '[]'))`
}

/** Facts of the workspace `w`. */
export const WORKSPACE_FACTS_SQL = sqlFragment`jsonb_build_object('id', w.id, 'name', w.name, 'timezone', w.timezone,
  'language', w.language, 'country', w.country)`

export type ContactFacts = { contact: Record<string, unknown> | null; workspace: Record<string, unknown> }

/**
 * Loads the facts of a contact and its workspace; those of the workspace alone for null.
 * @throws NotFoundError
 */
export async function loadContactFacts(scope: Scope, contactId: string | null): Promise<ContactFacts> {
  if (contactId !== null && !isUuid(contactId)) throw new NotFoundError('Contact')
  const [facts] = await scope.sql<ContactFacts>('loadContactFacts')`
    select ${contactFactsSql(scope.tenantId)} as contact, ${WORKSPACE_FACTS_SQL} as workspace
     from workspaces w left join contacts c on c.tenant_id = ${scope.tenantId} and c.id = ${contactId} where w.id = ${scope.tenantId}`
  if (!facts || (contactId !== null && facts.contact?.['id'] !== contactId.toLowerCase())) {
    throw new NotFoundError('Contact')
  }
  return contactId === null ? { ...facts, contact: null } : facts
}

/** Loads what `{{workspace}}` reads. */
export async function loadWorkspaceFacts(scope: Scope): Promise<ContactFacts['workspace']> {
  const [row] = await scope.sql<Pick<ContactFacts, 'workspace'>>('loadWorkspaceFacts')`
    select ${WORKSPACE_FACTS_SQL} as workspace from workspaces w where w.id = ${scope.tenantId}`
  return row?.workspace ?? {}
}
