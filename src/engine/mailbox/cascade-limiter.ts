import type { Mailbox } from '../model/mailbox-key.ts'
import type { StoredRun } from '../model/stored-run.ts'
import type { Database } from '../../platform/database/database.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import { MAILBOX_ID_SQL } from './mailbox.ts'

/**
 * Runs that were started by runs that were started by runs. The length of a chain is limited, but each of its links may
 * start several: so of each workflow a mailbox takes only so many of them in a minute.
 */
export const CASCADES_MAX = 20

const DEPTH_MIN = 2

/** How many a mailbox had within the last minute, by workflow. */
export type CascadeCounts = ReadonlyMap<string, number>

export function isCascade(depth: number): boolean {
  return depth >= DEPTH_MIN
}

/** Counts on while a mailbox is brought forward. */
export class CascadeLimiter {
  readonly #counts: Map<string, number>

  constructor(lately: CascadeCounts) {
    this.#counts = new Map(lately)
  }

  isFull(workflowId: string, depth: number): boolean {
    return isCascade(depth) && (this.#counts.get(workflowId) ?? 0) >= CASCADES_MAX
  }

  note(workflowId: string, depth: number): void {
    if (isCascade(depth)) countOne(this.#counts, workflowId)
  }
}

/** Of runs that are all there are in a mailbox. */
export function countCascadesAmong(runs: StoredRun[], now: Date): CascadeCounts {
  const since = addMs(now, -MINUTE)
  const counts = new Map<string, number>()
  for (const { workflowId, createdAt, state } of runs) {
    if (isCascade(state.depth) && createdAt > since) countOne(counts, workflowId)
  }
  return counts
}

function countOne(counts: Map<string, number>, workflowId: string): void {
  counts.set(workflowId, (counts.get(workflowId) ?? 0) + 1)
}

/** By mailbox. */
export async function countCascades(
  db: Database,
  { tenantId, mailboxes, now }: { tenantId: string; mailboxes: Mailbox[]; now: Date },
): Promise<Map<string, CascadeCounts>> {
  const { rows } = await db.raw<{ rows: { mailboxId: string; workflowId: string; n: number }[] }>(
    `select ${MAILBOX_ID_SQL} as "mailboxId", workflow_id as "workflowId", count(*)::int as n
     from runs where tenant_id = ? and created_at > ? and depth >= ${DEPTH_MIN} and ${MAILBOX_ID_SQL} = any(?) group by 1, 2`,
    [tenantId, addMs(now, -MINUTE), mailboxes.map(({ id }) => id)],
  )
  const counts = new Map<string, Map<string, number>>()
  for (const { mailboxId, workflowId, n } of rows) {
    counts.set(mailboxId, (counts.get(mailboxId) ?? new Map<string, number>()).set(workflowId, n))
  }
  return counts
}
