import type { Area } from '../mutant.ts'

const COUNTS = 'src/features/runs/count-runs.ts'
const PAGES = 'src/features/runs/page-runs.ts'
const FILTERS = 'src/features/runs/run-filters.ts'

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
      file: COUNTS,
      original: `'tenant_id = :tenantId',`,
      mutated: `'(tenant_id = :tenantId or true)',`,
    },
    {
      name: 'a stored total ignores the workflow',
      file: COUNTS,
      original: `['workflow_id = :workflowId']`,
      mutated: `[':workflowId::text is not null']`,
    },
    {
      name: 'a stored total ignores the version',
      file: COUNTS,
      original: `['version = :version']`,
      mutated: `[':version::int is not null']`,
    },
    {
      name: 'a stored total ignores the status',
      file: COUNTS,
      original: `['status = any(:status)']`,
      mutated: `[':status::text[] is not null']`,
    },
    {
      name: 'a stored total ignores the deltas that are not rolled up',
      file: COUNTS,
      original: 'from run_count_deltas where ${condition}',
      mutated: 'from run_count_deltas where false and ${condition}',
    },
    {
      name: 'a counted total ignores the status',
      file: COUNTS,
      original: 'where ${sql}${statusCondition}`',
      mutated: 'where ${sql}`',
    },
    {
      name: 'filters of runs apply to all tenants',
      file: FILTERS,
      original: `sql: ['tenant_id = :tenantId', ...`,
      mutated: `sql: ['(tenant_id = :tenantId or true)', ...`,
    },
    {
      name: 'startedAfter leaves out the moment itself',
      file: FILTERS,
      original: 'created_at >= :startedAfter',
      mutated: 'created_at > :startedAfter',
    },
    {
      name: 'startedBefore includes the moment itself',
      file: FILTERS,
      original: 'created_at < :startedBefore',
      mutated: 'created_at <= :startedBefore',
    },
    {
      name: 'waitingFor finds runs that no longer wait',
      file: FILTERS,
      original: `filters.waitingFor ? ['waiting'] : undefined`,
      mutated: 'undefined',
      equivalent: 'A run that does not wait has no waiting_for; the status only selects the partial index',
    },
    {
      name: 'runs of one moment have no fixed order',
      file: PAGES,
      original: 'order by created_at desc, id desc',
      mutated: 'order by created_at desc, id',
    },
    {
      name: 'a page of several statuses reads too few rows of each',
      file: PAGES,
      original: 'reach: limit + offset',
      mutated: 'reach: limit',
    },
    {
      name: 'the versions of a workflow are read from the counts of all tenants',
      file: PAGES,
      original: 'select version from run_counts where tenant_id = :tenantId and workflow_id',
      mutated: 'select version from run_counts where :tenantId::text is not null and workflow_id',
      equivalent: 'A workflow ID belongs to one tenant, so its counts are of that tenant only',
    },
    {
      name: 'a run that has finished is canceled again',
      file: 'src/features/runs/lock-open-run.ts',
      original: 'if (isFinished(await tx.get(RunRow, runId))) throw',
      mutated: 'if (false) throw',
    },
    {
      name: 'canceling does not lock the mailbox of the run',
      file: 'src/features/runs/lock-open-run.ts',
      original: 'await lockMailboxes(tx, [mailbox])',
      mutated: 'await Promise.resolve(lockMailboxes)',
      tests: ['integration/runs/run-races.test.ts'],
    },
    {
      name: 'messages of child runs stay queued when their parent is canceled',
      file: 'src/features/outbound/cancel-queued-messages.ts',
      original: `where r.status = 'canceled'),`,
      mutated: `where r.status = 'canceled' and false),`,
    },
    {
      name: 'canceling a run cancels the messages of a child run that finished',
      file: 'src/features/outbound/cancel-queued-messages.ts',
      original: `where r.status = 'canceled'),`,
      mutated: 'where true),',
    },
    {
      name: 'canceling cancels a message that the provider has',
      file: 'src/features/outbound/cancel-queued-messages.ts',
      original: 'and o.leased_at is null',
      mutated: '',
      tests: ['integration/runs/run-races.test.ts'],
    },
    {
      name: 'the roll-up drops the deltas of other workflows',
      file: 'src/features/runs/roll-up-run-counts.ts',
      original: 'set count = base.count + excluded.count',
      mutated: 'set count = excluded.count',
    },
    {
      name: 'two roll-ups wait for each other',
      file: 'src/features/runs/roll-up-run-counts.ts',
      original: 'for update skip locked',
      mutated: 'for update',
      equivalent: 'The result is the same; skipping locked rows only avoids waiting',
    },
    {
      name: 'the steps of a run are listed in another order',
      file: 'src/features/runs/queries.ts',
      original: `.orderBy('index')`,
      mutated: `.orderBy('index', 'desc')`,
    },
    {
      name: 'runs of a page lose their order',
      file: 'src/features/runs/queries.ts',
      original: 'ids.indexOf(a.id) - ids.indexOf(b.id)',
      mutated: 'ids.indexOf(b.id) - ids.indexOf(a.id)',
    },
    {
      name: 'a run with failed messages does not say so',
      file: 'src/features/runs/queries.ts',
      original: `m.status = 'failed')`,
      mutated: `m.status = 'queued')`,
    },
  ],
}
