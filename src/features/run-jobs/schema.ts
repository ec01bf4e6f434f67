import { z } from 'zod'
import { ListRuns } from '../runs/schema.ts'

/** Runs of one job. */
const RUNS_MAX = 10_000

const { limit: _limit, offset: _offset, cursor: _cursor, sort: _sort, ...filters } = ListRuns.shape

const RunFilter = z
  .strictObject(filters)
  .refine(({ version, workflowId }) => version === undefined || workflowId !== undefined, {
    path: ['version'],
    message: 'requires `workflowId`, because versions are numbered per workflow',
  })
  .meta({
    id: 'RunFilter',
    description: 'The filters of `GET /api/runs`',
    examples: [{ status: 'failed', workflowId: '0199a7a0-0000-7000-8000-000000000001' }],
  })
export type RunFilter = z.output<typeof RunFilter>

const selection = {
  filter: RunFilter,
  expectedCount: z
    .int()
    .min(1)
    .max(RUNS_MAX)
    .meta({ description: 'The number of runs that the filter finds, which is `total` of `GET /api/runs`' }),
}

export const BulkCancelRuns = z.strictObject(selection)
export type BulkCancelRuns = z.output<typeof BulkCancelRuns>

/** Options of a replay that are the same for all runs. */
export const ReplayOptions = z.object({
  from: z
    .enum(['auto', 'start', 'failed'])
    .default('auto')
    .meta({ description: 'The step to start from, as for `POST /api/runs/{runId}/replay`' }),
  version: z
    .enum(['original', 'published'])
    .default('original')
    .meta({ description: 'The definition to run: that of each run, or the published one' }),
})

export const BulkReplayRuns = z.strictObject({ ...selection, ...ReplayOptions.shape })
export type BulkReplayRuns = z.output<typeof BulkReplayRuns>
