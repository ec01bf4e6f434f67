import { addMs, MINUTE } from '../../platform/time.ts'
import type { Mailbox } from '../model/mailbox-key.ts'
import type { StoredRun } from '../model/stored-run.ts'
import type { RunStore } from './store.ts'

/** Workflows may trigger each other this many times in a row. */
export const DEPTH_MAX = 8

/**
 * Limit per minute, mailbox and workflow for runs that runs of runs started. `DEPTH_MAX` bounds the length of a cascade
 * only: each of its runs may start several others.
 */
export const CASCADES_MAX = 20

const CASCADE_DEPTH_MIN = 2

/** Number of cascaded runs of a mailbox within the last minute, by workflow. */
export type CascadeCounts = ReadonlyMap<string, number>

export function isCascade(depth: number): boolean {
  return depth >= CASCADE_DEPTH_MIN
}

/** Counts cascaded runs while a mailbox is processed. */
export class CascadeLimiter {
  readonly #counts: Map<string, number>

  constructor(recent: CascadeCounts) {
    this.#counts = new Map(recent)
  }

  isExceeded(workflowId: string, depth: number): boolean {
    return isCascade(depth) && (this.#counts.get(workflowId) ?? 0) >= CASCADES_MAX
  }

  add(workflowId: string, depth: number): void {
    if (isCascade(depth)) increment(this.#counts, workflowId)
  }
}

/** Counts cascaded runs among all runs of a mailbox. */
export function countCascadesAmong(runs: StoredRun[], now: Date): CascadeCounts {
  const since = addMs(now, -MINUTE)
  const counts = new Map<string, number>()
  for (const { workflowId, createdAt, state } of runs) {
    if (isCascade(state.depth) && createdAt > since) increment(counts, workflowId)
  }
  return counts
}

function increment(counts: Map<string, number>, workflowId: string): void {
  counts.set(workflowId, (counts.get(workflowId) ?? 0) + 1)
}

/** Loads the counts of mailboxes, by mailbox id. */
export async function loadCascadeCounts<Tx extends { now(): Date }>(
  store: RunStore<Tx>,
  tx: Tx,
  mailboxes: Mailbox[],
): Promise<Map<string, CascadeCounts>> {
  const since = addMs(tx.now(), -MINUTE)
  const rows = await store.countCascades(tx, { mailboxes, depthMin: CASCADE_DEPTH_MIN, since })
  const counts = new Map<string, Map<string, number>>()
  for (const { mailboxId, workflowId, count } of rows) {
    counts.set(mailboxId, (counts.get(mailboxId) ?? new Map<string, number>()).set(workflowId, count))
  }
  return counts
}
