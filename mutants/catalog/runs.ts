import type { Area } from '../mutant.ts'

const COUNTS = 'src/features/runs/list-runs.ts'
const COUNT_SQL = 'src/features/counts/count-sql.ts'
const PAGES = 'src/features/paging/read-page.ts'
const WALK = 'src/features/paging/walk.ts'
const FILTERS = 'src/features/runs/list-runs.ts'

export const RUNS: Area = {
  name: 'runs',
  tests: [
    'integration/runs/runs-list.test.ts',
    'integration/runs/run-counts.test.ts',
    'integration/runs/run-steps.test.ts',
    'integration/tenant-isolation.test.ts',
  ],
  mutants: [
    {
      name: 'stored totals count the runs of all tenants',
      file: COUNT_SQL,
      original: 'from kept_counts where tenant_id = ${tenantId} and',
      mutated: 'from kept_counts where (tenant_id = ${tenantId} or true) and',
    },
    {
      name: 'a stored total ignores the workflow',
      file: COUNTS,
      original: 'sqlFragment`owner_id = ${workflowId}`',
      mutated: 'sqlFragment`${workflowId}::uuid is not null`',
    },
    {
      name: 'a stored total ignores the version',
      file: COUNTS,
      original: "sqlFragment`split_part(key, ':', 1) = ${String(version)}`",
      mutated: 'sqlFragment`${version}::int is not null`',
    },
    {
      name: 'a stored total ignores the status',
      file: COUNTS,
      original: "sqlFragment`split_part(key, ':', 2) = any(${status})`",
      mutated: 'sqlFragment`${status}::text[] is not null`',
    },
    {
      name: 'a stored total ignores the deltas that are not rolled up',
      file: COUNT_SQL,
      original: 'from kept_count_deltas where tenant_id = ${tenantId} and',
      mutated: 'from kept_count_deltas where tenant_id = ${tenantId} and false and',
    },
    {
      name: 'a list of runs ignores the status',
      file: 'src/features/runs/list-runs.ts',
      original: 'toStatusConditions(filters)',
      mutated: 'toStatusConditions({ ...filters, status: undefined })',
    },
    {
      name: 'a page has the rows of all tenants',
      file: WALK,
      original: 'sqlFragment`t.tenant_id = ${tenantId}`',
      mutated: 'sqlFragment`(t.tenant_id = ${tenantId} or true)`',
    },
    {
      name: 'createdAfter leaves out the moment itself',
      file: FILTERS,
      original: 'sqlFragment`t.created_at >=`',
      mutated: 'sqlFragment`t.created_at >`',
    },
    {
      name: 'createdBefore includes the moment itself',
      file: FILTERS,
      original: 'sqlFragment`t.created_at <`',
      mutated: 'sqlFragment`t.created_at <=`',
    },
    {
      name: 'waitingFor finds runs that no longer wait',
      file: FILTERS,
      original: "(waitingFor ? (['waiting'] as const) : [])",
      mutated: '[]',
      equivalent: 'A run that does not wait has no waiting_for; the status only selects the partial index',
    },
    {
      name: 'rows of one moment are listed in another order',
      file: PAGES,
      original: 'order by page.value ${this.#direction}, page.id ${this.#direction}`',
      mutated: 'order by page.value ${this.#direction}, page.id`',
    },
    {
      name: 'a page of several statuses reads too few rows of each',
      file: WALK,
      original: 'limit ${limit + offset}`',
      mutated: 'limit ${limit}`',
    },
    {
      name: 'a run that has finished is canceled again',
      file: 'src/features/runs/changes.ts',
      original: 'if (isFinished(await tx.get(RunRow, runId))) {',
      mutated: 'if (false) {',
      tests: ['integration/runs/run-races.test.ts'],
    },
    {
      name: 'canceling does not lock the mailbox of the run',
      file: 'src/features/runs/changes.ts',
      original: 'await lockMailboxes(tx, [mailbox])',
      mutated: 'await Promise.resolve(lockMailboxes)',
      tests: ['integration/runs/run-races.test.ts'],
    },
    {
      name: 'messages of child runs stay queued when their parent is canceled',
      file: 'src/features/outbound/cancel-queued-messages.ts',
      original: `where r.status = 'canceled'),`,
      mutated: `where r.status = 'canceled' and false),`,
      tests: ['integration/runs/run-races.test.ts'],
    },
    {
      name: 'canceling a run cancels the messages of a child run that finished',
      file: 'src/features/outbound/cancel-queued-messages.ts',
      original: `where r.status = 'canceled'),`,
      mutated: 'where true),',
      tests: ['integration/runs/run-races.test.ts'],
    },
    {
      name: 'canceling cancels a message that the provider has',
      file: 'src/features/outbound/cancel-queued-messages.ts',
      original: 'and o.leased_at is null',
      mutated: '',
      equivalent: 'A claimed message is `sending`, and only a `queued` one is canceled',
    },
    {
      name: 'the roll-up forgets the earlier numbers',
      file: 'src/features/counts/maintain-counts.ts',
      original: 'set count = kept_counts.count + excluded.count',
      mutated: 'set count = excluded.count',
    },
    {
      name: 'the steps of a run are listed in another order',
      file: 'src/features/runs/queries.ts',
      original: `.orderBy('index')`,
      mutated: `.orderBy('index', 'desc')`,
    },
    {
      name: 'a run with failed messages does not say so',
      file: 'src/features/runs/queries.ts',
      original: `m.status = 'failed')`,
      mutated: `m.status = 'queued')`,
    },
    {
      name: 'a job begins although its filter finds more runs than expected',
      file: 'src/features/run-jobs/create-runs-job.ts',
      original: 'if (runIds.length !== expectedCount) {',
      mutated: 'if (runIds.length < expectedCount) {',
      tests: ['integration/runs/run-jobs.test.ts'],
    },
  ],
}
