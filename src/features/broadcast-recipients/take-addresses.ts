import { toRecordset } from '../../platform/database/sql.ts'
import { joinFragments, type SqlFragment, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'

/** SQL condition that another recipient of the broadcast of `row` has been sent the message at the address of `row`. */
export function isAddressTakenSql(scope: Scope, row: 'd'): SqlFragment {
  const { tenantId } = scope
  const hashes = listKeys(scope).map((key) => hashSql(key, `${row}.address`))
  const others = sqlFragment`
    select from broadcast_recipients o where o.tenant_id = ${tenantId} and o.broadcast_id = ${sqlText(row)}.broadcast_id
      and o.id <> ${sqlText(row)}.id and o.status not in ('pending', 'skipped', 'canceled')`
  return sqlFragment`(
    exists (${others} and o.sent_to = ${sqlText(row)}.address)
    or exists (${others} and o.sent_to is null and o.skip_reason is null and o.address = ${sqlText(row)}.address)
    or exists (${others} and o.sent_hash in (${joinFragments(hashes, ', ')})))`
}

/**
 * SQL hash that stays of an address when it is erased. It is equal for equal addresses of a workspace, and nobody finds
 * the address by trying all numbers without the key.
 */
export function addressHashSql(scope: Scope, address: string): SqlFragment {
  return hashSql(listKeys(scope)[0] ?? '', address)
}

/** The present key and those of earlier secret keys, by which addresses were erased before. */
function listKeys({ tenantId, secrets }: Scope): string[] {
  return secrets.listCodes(tenantId, 'erased address')
}

function hashSql(key: string, address: string): SqlFragment {
  return sqlFragment`sha256(convert_to(${key}::text || ${sqlText(address)}, 'UTF8'))`
}

/**
 * Records the addresses to which contacts have moved since their messages were queued. Returns the IDs of the recipients
 * to whom the message may be sent there, as no other recipient was. The caller holds the locks of the messages.
 */
export async function takeAddresses(tx: Scope, moved: { id: string; address: string }[]): Promise<Set<string>> {
  if (moved.length === 0) return new Set()
  const taken = await tx.sql<{ id: string }>('takeAddresses')`
    with locked as (
       select r.id, r.broadcast_id, x.address from broadcast_recipients r
       join jsonb_to_recordset(${toRecordset(moved)}::jsonb) as x (id uuid, address text) on x.id = r.id
       where r.tenant_id = ${tx.tenantId} order by r.id for no key update of r),
     free as (select d.id, d.address from locked d where not ${isAddressTakenSql(tx, 'd')})
     update broadcast_recipients r set sent_to = nullif(free.address, r.address) from free
     where r.tenant_id = ${tx.tenantId} and r.id = free.id
     returning r.id`
  return new Set(taken.map(({ id }) => id))
}
