import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { PHONE_SPELLINGS } from '../../platform/phone.ts'
import type { Scope } from '../../scope.ts'

/**
 * Fills the missing keys of phone numbers, as the trigger on contacts does; a distributed database has none. A key that
 * another contact has stays unused: of several contacts with one number, the oldest gets it.
 */
export async function fillPhoneKeys({ sql, tenantId }: Pick<Scope, 'sql' | 'tenantId'>): Promise<void> {
  await sql('fillPhoneKeys')`
    update contacts set phone_key = keys.phone_key
    from (
      select distinct on (phone_key) id, phone_key
      from (
        select id, created_at, ${phoneKeySql(sqlFragment`phone`)} as phone_key
        from contacts where tenant_id = ${tenantId} and phone is not null and phone_key is null) numbers
      order by phone_key, created_at, id) keys
    where contacts.tenant_id = ${tenantId} and contacts.id = keys.id and not exists (
      select from contacts other where other.tenant_id = ${tenantId} and other.phone_key = keys.phone_key)`
}

function phoneKeySql(phone: SqlFragment): SqlFragment {
  return PHONE_SPELLINGS.reduce(
    (key, { pattern, replacement }) =>
      sqlFragment`regexp_replace(${key}, ${pattern.source}, ${replacement.replaceAll('$', '\\')})`,
    phone,
  )
}
