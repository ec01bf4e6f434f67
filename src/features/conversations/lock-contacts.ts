/**
 * Locks the contacts `:contactIds` of `:tenantId`, after their conversations and always in the order of their ids: one
 * person may be answered on one channel while writing on another, by two transactions with many people in common.
 */
export const LOCKED_CONTACTS = `select id from contacts
  where tenant_id = :tenantId and id = any(:contactIds) order by id for no key update`
