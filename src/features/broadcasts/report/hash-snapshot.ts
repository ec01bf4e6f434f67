import { createHash } from 'node:crypto'
import { selectRows } from '../../../platform/database/sql.ts'
import type { Scope } from '../../../scope.ts'

const PAGE = 5000

/**
 * Returns the SHA-256 of the list of recipients, in hexadecimal: of their digests in the order of their IDs. A digest
 * stays when a contact is deleted, and a retry changes none.
 */
export async function hashSnapshot({ db, tenantId }: Scope, broadcastId: string): Promise<string> {
  const hash = createHash('sha256')
  let after = '00000000-0000-0000-0000-000000000000'
  for (let count = PAGE; count === PAGE;) {
    const [page] = await selectRows<{ digests: Buffer | null; count: number; lastId: string | null }>(
      db,
      `select string_agg(digest, '' order by id) as digests, count(*)::int as count,
         (array_agg(id order by id desc))[1] as last_id
       from (
         select id, digest from broadcast_recipients
         where tenant_id = :tenantId and broadcast_id = :broadcastId and id > :after order by id limit :limit) page`,
      { tenantId, broadcastId, after, limit: PAGE },
    )
    hash.update(page?.digests ?? Buffer.alloc(0))
    count = page?.count ?? 0
    after = page?.lastId ?? after
  }
  return hash.digest('hex')
}
