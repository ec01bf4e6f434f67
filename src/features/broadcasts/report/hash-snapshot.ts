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
    const rows = await selectRows<{ id: string; digest: Buffer | null }>(
      db,
      `select id, digest from broadcast_recipients
       where tenant_id = :tenantId and broadcast_id = :broadcastId and id > :after order by id limit :limit`,
      { tenantId, broadcastId, after, limit: PAGE },
    )
    for (const { digest } of rows) hash.update(digest ?? Buffer.alloc(0))
    count = rows.length
    after = rows.at(-1)?.id ?? after
  }
  return hash.digest('hex')
}
