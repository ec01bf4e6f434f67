import { createHash } from 'node:crypto'
import { NIL_ID } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope/scope.ts'

const PAGE = 5000

/**
 * Returns the SHA-256 of the list of recipients, in hexadecimal: of their digests in the order of their IDs. A digest
 * stays when a contact is deleted, and a retry changes none.
 */
export async function hashSnapshot(scope: Scope, broadcastId: string): Promise<string> {
  const hash = createHash('sha256')
  let after: string = NIL_ID
  for (let count = PAGE; count === PAGE;) {
    const [page] = await scope.sql<{ digests: Buffer | null; count: number; lastId: string | null }>('hashSnapshot')`
    select string_agg(digest, '' order by id) as digests, count(*)::int as count,
         (array_agg(id order by id desc))[1] as last_id
       from (
         select id, digest from broadcast_recipients
         where tenant_id = ${scope.tenantId} and broadcast_id = ${broadcastId} and id > ${after} order by id limit ${PAGE}) page`
    hash.update(page?.digests ?? Buffer.alloc(0))
    count = page?.count ?? 0
    after = page?.lastId ?? after
  }
  return hash.digest('hex')
}
