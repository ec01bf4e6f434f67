import { Job as JobRow, type JobItemStatus } from '../../models/jobs.ts'
import { toCsvLine } from '../../platform/csv/write-csv.ts'
import type { Scope } from '../../scope/scope.ts'
import type { JobRef } from './schema.ts'

const PAGE = 1000

type Row = {
  line: number
  status: JobItemStatus
  id: string | null
  /** The run that the filter of the job found. */
  sourceId: string | null
  error: { code: string; message: string } | null
}

/**
 * Returns the results of a job as lines of NDJSON, in the order of its lines. They are read page by page, as fast as the
 * client takes them.
 * @throws NotFoundError
 */
export async function exportResults(scope: Scope, { jobId }: JobRef): Promise<AsyncGenerator<string>> {
  const { id } = await scope.get(JobRow, jobId)
  return toText(scope, id, { toLine: (row) => `${JSON.stringify(row)}\n` })
}

/**
 * Returns the lines of a job that failed, with the reasons, as CSV.
 * @throws NotFoundError
 */
export async function exportRejects(scope: Scope, { jobId }: JobRef): Promise<AsyncGenerator<string>> {
  const { id } = await scope.get(JobRow, jobId)
  const toLine = ({ line, error }: Row) => toCsvLine([line, error?.code ?? null, error?.message ?? null])
  return toText(scope, id, { status: 'failed', header: toCsvLine(['line', 'code', 'reason']), toLine })
}

type Format = { status?: JobItemStatus; header?: string; toLine: (row: Row) => string }

async function* toText(scope: Scope, jobId: string, { status, header, toLine }: Format): AsyncGenerator<string> {
  if (header) yield header
  let after = -1
  for (let count = PAGE; count === PAGE;) {
    const rows = await scope.sql<Row>('exportJobItems')`
      select i.line, i.status, i.target_id as id, t.target_id as source_id, i.error
      from job_items i left join job_targets t
        on t.tenant_id = ${scope.tenantId} and t.job_id = ${jobId} and t.line = i.line
      where i.tenant_id = ${scope.tenantId} and i.job_id = ${jobId} and i.line > ${after}
        and (${status ?? null}::text is null or i.status = ${status ?? null})
      order by i.line limit ${PAGE}`
    count = rows.length
    after = rows.at(-1)?.line ?? after
    if (count > 0) yield rows.map(toLine).join('')
  }
}
