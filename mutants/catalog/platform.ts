import type { Area } from '../mutant.ts'

const TRANSACTION = 'src/platform/database/transaction.ts'
const SHARED = 'src/platform/database/pools/shared-transactions.ts'
const EXECUTOR = 'src/platform/jobs/job-executor.ts'

/** Transactions, jobs and the clock. */
export const PLATFORM: Area = {
  name: 'platform',
  tests: ['unit/platform/job-executor.test.ts', 'unit/platform/job-works.test.ts'],
  mutants: [
    {
      name: 'an inner transaction ends on a connection that others use by now',
      file: TRANSACTION,
      original: `const result = await work(this.#db)
      this.#assertOpen()`,
      mutated: 'const result = await work(this.#db)',
      tests: ['integration/platform/transactions.test.ts'],
    },
    {
      name: 'statements are sent on a connection that others use by now',
      file: TRANSACTION,
      original: `async #send<T>(send: () => Promise<T>): Promise<T> {
    this.#assertOpen()`,
      mutated: 'async #send<T>(send: () => Promise<T>): Promise<T> {',
      tests: ['integration/platform/transactions.test.ts'],
    },
    {
      name: 'the last error of a transaction is reported and not the first',
      file: TRANSACTION,
      original: 'this.#failure ??= error',
      mutated: 'this.#failure = error',
      tests: ['integration/platform/transactions.test.ts'],
    },
    {
      name: 'the refusal of a statement is reported and not the error before',
      file: TRANSACTION,
      original: 'sqlState(error) === TRANSACTION_ABORTED ? (this.#failure ?? error) : error',
      mutated: 'error',
      tests: ['integration/platform/transactions.test.ts'],
    },
    {
      name: 'a shared transaction that takes long makes no room',
      file: SHARED,
      original: 'const timer = setTimeout(makeRoom, this.#options.holdMaxMs)',
      mutated: 'const timer = setTimeout(() => {}, this.#options.holdMaxMs)',
      tests: ['integration/platform/shared-transactions.test.ts'],
    },
    {
      name: 'the room that a shared transaction makes is used when something else arrives',
      file: SHARED,
      original: 'if (this.#places.delete(keys)) this.#startNext()',
      mutated: 'this.#places.delete(keys)',
      tests: ['integration/platform/shared-transactions.test.ts'],
    },
    {
      name: 'the commit of a shared transaction has only the time of its statements',
      file: SHARED,
      original: "select set_config('statement_timeout', ${statementTimeout}, true)",
      mutated: 'select ${statementTimeout}',
      tests: ['integration/platform/shared-transactions.test.ts'],
    },
    {
      name: 'a place is kept for a key that has a place',
      file: EXECUTOR,
      original: ' || this.#released.has(key)\n',
      mutated: '\n',
    },
    {
      name: 'a place is kept for a key whose job waits',
      file: EXECUTOR,
      original: 'const hasJob = isWaiting || ',
      mutated: 'const hasJob = ',
    },
    {
      name: 'a place is kept for a key whose job is at work',
      file: EXECUTOR,
      original: '|| this.#working.has(key) ||',
      mutated: '||',
    },
    {
      name: 'nothing starts when a place is left',
      file: EXECUTOR,
      original: `this.#forgetReleased(key)
    free()
    this.#goOn()`,
      mutated: `this.#forgetReleased(key)
    free()`,
    },
    {
      name: 'a place that was left still counts for its workspace',
      file: EXECUTOR,
      original: `this.#forgetReleased(key)
    free()`,
      mutated: 'this.#forgetReleased(key)',
    },
    {
      name: 'places of a claim that has failed stay taken',
      file: EXECUTOR,
      original: 'for (const free of places) free()\n',
      mutated: '\n',
    },
    {
      name: 'nothing starts when a work of a job ends',
      file: EXECUTOR,
      original: `free?.()
    this.#goOn()`,
      mutated: 'free?.()',
    },
    {
      name: 'calls that a workspace has no places for wait for a periodic task',
      file: 'src/features/external-calls/execute-calls.ts',
      original: 'if (hasMore || signal?.aborted) scope.enqueue(executeJob(tenantId))',
      mutated: '',
      tests: ['integration/engine/outside-calls.test.ts'],
    },
    {
      name: 'a workspace takes half of the free places',
      file: EXECUTOR,
      original: 'const SHARE = 1 / 4',
      mutated: 'const SHARE = 1 / 2',
    },
    {
      name: 'reserved places take those of jobs at work',
      file: EXECUTOR,
      original: 'this.#places.countRoom(tenantId, kept)',
      mutated: 'this.#places.countRoom(tenantId)',
    },
    {
      name: 'jobs that wait at the stop are not left to other processes',
      file: 'src/platform/jobs/wakeup-queue.ts',
      original: 'this.#sender.add(stopped.flatMap(({ waiting }) => waiting))',
      mutated: '',
      tests: ['integration/platform/wakeup-queue.test.ts'],
    },
    {
      name: 'the clock stays corrected when it is right again',
      file: 'src/platform/database/synchronize-clock.ts',
      original: 'Math.abs(best.ms - systemClock.correctionMs) <= best.errorMs',
      mutated: 'Math.abs(best.ms) <= best.errorMs',
      tests: ['integration/platform/synchronize-clock.test.ts'],
    },
    {
      name: 'events of an inner transaction are lost',
      file: 'src/scope/scope.ts',
      original: 'this.#ending.events.push(...events)\n      this.#ending.outdatedKeys',
      mutated: 'this.#ending.outdatedKeys',
      tests: ['integration/platform/transactions.test.ts'],
    },
    {
      name: 'jobs of a commit whose response is lost wait for the search for lost jobs',
      file: 'src/platform/database/transaction.ts',
      original: 'if (!isInner && isOutage(error)) effects()',
      mutated: '',
      tests: ['integration/engine/lost-commit.test.ts'],
    },
    {
      name: 'only the first 5,000 of the new events get a position',
      file: 'src/features/events/number-events.ts',
      original: 'if (count < BATCH) return position',
      mutated: 'if (count <= BATCH) return position',
      tests: ['integration/live/live-resume.test.ts'],
    },
    {
      name: 'the queries of a batch have answers of any size together',
      file: 'src/trpc/batch-budget.ts',
      original: 'this.#bytes > 0 && bytes > BATCH_BYTES_MAX',
      mutated: 'this.#bytes > BATCH_BYTES_MAX && bytes > 10 * BATCH_BYTES_MAX',
      tests: ['integration/api/trpc-queries.test.ts'],
    },
  ],
}
