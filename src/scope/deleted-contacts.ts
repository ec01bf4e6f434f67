import { type SqlFragment, sqlFragment, sqlText } from '../platform/database/statements/statement.ts'

/**
 * SQL condition that the row `alias` is of no deleted contact, which is being purged: of such a contact, messages, runs and
 * the data of events are left for a while. The deleted contacts are read once per statement, and there are hardly ever any.
 */
export function isOfNoDeletedContactSql(tenantId: string, alias: string): SqlFragment {
  return sqlFragment`(${sqlText(alias)}.contact_id = any(array(
    select gone.contact_id from contact_purges gone where gone.tenant_id = ${tenantId}))) is not true`
}
