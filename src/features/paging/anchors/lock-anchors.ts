import { NIL_ID } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope.ts'
import { type AnchoredList, ofListSql } from './anchored-list.ts'

/**
 * Makes the transaction the only one that changes the anchors of a list. Returns when they were begun, and undefined if the
 * list has none or another transaction changes them. Those that record changes and those that read pages do not wait for it.
 */
export async function lockAnchors(tx: Scope, list: AnchoredList): Promise<Date | undefined> {
  const [first] = await tx.sql<{ begunAt: Date }>('lockAnchors')`
    select begun_at from list_anchors where ${ofListSql(tx, list)} and value = '-infinity' and row_id = ${NIL_ID}
    for update skip locked`
  return first?.begunAt
}
