import { sqlFragment, type SqlFragment } from '../../../platform/database/statements/statement.ts'
import type { Job } from '../../../platform/jobs/job-queue.ts'
import { addMs, DAY, MINUTE } from '../../../platform/time.ts'
import type { Scope } from '../../../scope.ts'

/**
 * A list with anchors: rows at about equal distances, with the number of rows between them. It is ordered by a time and the
 * ID, or by the ID alone. A new row is newer than all others, so that only rows that leave their place, and those without a
 * time, have to be recorded (`recordListChanges`).
 */
export type AnchoredList = {
  list: 'contacts' | 'conversations' | 'runs' | 'recipients'
  /** ID of the broadcast whose recipients are listed. */
  ownerId?: string
}

/** Rows from one anchor to the next. */
export const ANCHORS = { spacing: 10_000 }

const ANCHOR_AGE_MS = 10 * MINUTE
const REBUILD_MS = DAY

/**
 * Returns the time before which rows may become anchors. They are so old that no transaction in progress inserts an older
 * one, as transactions have time limits.
 */
export function anchoredBefore(now: Date): Date {
  return addMs(now, -ANCHOR_AGE_MS)
}

/**
 * Returns the time before which a row that moves is recorded. A move of a younger one has committed before anchors can
 * count the row.
 */
export function recordedBefore(now: Date): Date {
  return addMs(now, -ANCHOR_AGE_MS / 2)
}

/**
 * Returns the time since which anchors are used without being counted again. It bounds how long they are wrong after a
 * transaction that took longer than all limits, such as a commit that waited for a standby, or after a wrong clock.
 */
export function countedSince(now: Date): Date {
  return addMs(now, -REBUILD_MS)
}

/** Returns the condition of the rows of `list_anchors` and `list_changes` that belong to a list. */
export function ofListSql({ tenantId }: Scope, list: AnchoredList): SqlFragment {
  return sqlFragment`tenant_id = ${tenantId} and list = ${list.list} and owner_id = ${toListOwnerId(tenantId, list)}`
}

export function toListOwnerId(tenantId: string, { ownerId = tenantId }: AnchoredList): string {
  return ownerId
}

/** Job that adds the missing anchors of a list. */
export function anchorJob(tenantId: string, list: AnchoredList): Job {
  const ownerId = toListOwnerId(tenantId, list)
  const payload = { tenantId, list: list.list, ownerId }
  return { task: 'extend-anchors', key: `extend-anchors:${list.list}:${tenantId}:${ownerId}`, payload }
}
