import { selectRows } from '../../platform/database/sql.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'

/** Facts of the contact `c` that placeholders such as `{{contact.name}}` read. */
export const CONTACT_FACTS_SQL = `jsonb_build_object('id', c.id, 'name', c.name, 'phone', c.phone, 'email', c.email,
  'language', c.language, 'country', c.country, 'timezone', c.timezone, 'fields', c.fields, 'blocked', c.blocked,
  'consent', jsonb_build_object('marketing', c.marketing_consent, 'service', c.service_consent),
  'tags', coalesce((select jsonb_agg(t.name order by lower(t.name)) from contact_tags ct
    join tags t on t.tenant_id = ct.tenant_id and t.id = ct.tag_id
    where ct.tenant_id = c.tenant_id and ct.contact_id = c.id), '[]'),
  'groupIds', coalesce((select jsonb_agg(gc.group_id) from group_contacts gc
    where gc.tenant_id = c.tenant_id and gc.contact_id = c.id), '[]'))`

/** Facts of the workspace `w`. */
export const WORKSPACE_FACTS_SQL = `jsonb_build_object('id', w.id, 'name', w.name, 'timezone', w.timezone)`

export type ContactFacts = { contact: Record<string, unknown> | null; workspace: Record<string, unknown> }

/**
 * Loads the facts of a contact and its workspace; those of the workspace alone for null.
 * @throws NotFoundError
 */
export async function loadContactFacts(scope: Scope, contactId: string | null): Promise<ContactFacts> {
  if (contactId !== null && !isUuid(contactId)) throw new NotFoundError('Contact')
  const [facts] = await selectRows<ContactFacts>(
    scope.db,
    `select ${CONTACT_FACTS_SQL} as contact, ${WORKSPACE_FACTS_SQL} as workspace
     from workspaces w left join contacts c on c.tenant_id = :tenantId and c.id = :contactId where w.id = :tenantId`,
    { tenantId: scope.tenantId, contactId },
  )
  if (!facts || (contactId !== null && facts.contact?.['id'] !== contactId.toLowerCase())) {
    throw new NotFoundError('Contact')
  }
  return contactId === null ? { ...facts, contact: null } : facts
}
