import type { Job as JobRow } from '../../models/jobs.ts'
import { AppError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { toItemError } from '../../trpc/bulk.ts'
import type { JobItem, Portion } from '../jobs/job-kind.ts'

/** A run that a job acts on. */
export type Target = { line: number; runId: string }

/** Runs of a portion. Their conversations are locked while it is stored. */
const PORTION = 20

/** Reads the runs of a job in portions, from its position on. */
export async function* readTargets(scope: Scope, { id, cursor }: JobRow): AsyncGenerator<Portion<Target>> {
  let after = Number(cursor?.['line'] ?? 0)
  for (;;) {
    const lines = await scope.sql<Target>('readJobTargets')`
      select line, target_id as run_id from job_targets
      where tenant_id = ${scope.tenantId} and job_id = ${id} and line > ${after} order by line limit ${PORTION}`
    const last = lines.at(-1)
    if (!last) return
    after = last.line
    yield { lines, cursor: { line: after } }
  }
}

/** Works on a run in a transaction of its own within that of the portion, so that what fails alone is undone alone. */
export async function applyToRun(
  tx: Scope,
  { line, runId }: Target,
  work: (inner: Scope) => Promise<Pick<JobItem, 'status' | 'targetId'>>,
): Promise<JobItem> {
  try {
    return { line, error: null, ...(await tx.transaction(work)) }
  } catch (error) {
    if (error instanceof AppError) return failedItem({ line, runId }, error)
    throw error
  }
}

export function failedItem({ line, runId }: Target, error: AppError): JobItem {
  return { line, status: 'failed', targetId: runId, error: toItemError(error) }
}
