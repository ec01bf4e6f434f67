import type { Area } from '../mutant.ts'

const MAILBOX = 'src/features/automation/store/mailbox-store.ts'
const ACTIVE = 'src/engine/mailbox/active-runs.ts'

const UNIT = [
  'unit/engine/mailbox-processor.test.ts',
  'unit/engine/mailbox-properties.test.ts',
  'unit/engine/decide.test.ts',
  'unit/engine/decide-end.test.ts',
  'unit/engine/decide-failures.test.ts',
  'unit/engine/decide-properties.test.ts',
]
const STORED = [
  'integration/engine/mailbox-order.test.ts',
  'integration/engine/transient-failures.test.ts',
  'integration/engine/mailboxes.test.ts',
  'integration/api/dead-letters.test.ts',
]

export const ENGINE: Area = {
  name: 'engine',
  tests: [...UNIT, ...STORED],
  mutants: [
    {
      name: 'a queued run starts beside the one that it waits for',
      file: ACTIVE,
      original: 'if (!next || this.#mustQueue(next)) return',
      mutated: 'if (!next) return',
      tests: ['integration/engine/mailboxes.test.ts'],
    },
    {
      name: 'the timer of an earlier wait fires',
      file: ACTIVE,
      original: 'if (run.state.epoch !== epoch || isFinished(run.state)) return',
      mutated: 'if (isFinished(run.state)) return',
    },
    {
      name: 'a timer continues a run while a person has taken over',
      file: ACTIVE,
      original: 'if (this.isPaused(run)) this.#wakeLater(run)',
      mutated: 'if (false) this.#wakeLater(run)',
    },
    {
      name: 'the result of an earlier child run resumes its parent',
      file: ACTIVE,
      original: 'if (!run || isFinished(run.state) || run.state.epoch !== epoch) return',
      mutated: 'if (!run || isFinished(run.state)) return',
      equivalent: 'decide() compares the epoch again and does not consume an older result',
    },
    {
      name: 'child runs that nobody awaits outlive a canceled parent',
      file: ACTIVE,
      original: `for (const child of listUnawaitedChildren(run, this.#runs)) this.advance(child, cancellation)`,
      mutated: '',
    },
    {
      name: 'a message is offered to runs that a person has paused',
      file: 'src/engine/mailbox/processor.ts',
      original: `this.runs.listWaiting('reply').filter((run) => !this.runs.isPaused(run))`,
      mutated: `this.runs.listWaiting('reply')`,
      tests: ['integration/engine/mailboxes.test.ts'],
    },
    {
      name: 'overdue runs still consume a message',
      file: 'src/engine/mailbox/processor.ts',
      original: `if (!message) return
    this.runs.expireOverdue()`,
      mutated: 'if (!message) return',
    },
    {
      name: 'a trigger of priority 0 preempts the run that waits for the reply',
      file: 'src/engine/mailbox/processor.ts',
      original: 'matches.filter(({ priority }) => priority > 0)',
      mutated: 'matches.filter(({ priority }) => priority >= 0)',
    },
    {
      name: 're-entry ignore starts another run',
      file: 'src/engine/mailbox/reentry.ts',
      original: `return 'reject'`,
      mutated: `return 'start'`,
    },
    {
      name: 'the newest of the queued runs starts first',
      file: 'src/engine/mailbox/reentry.ts',
      original: 'runs.findLast(',
      mutated: 'runs.find(',
    },
    {
      name: 'a cascade has one run more than its limit',
      file: 'src/engine/mailbox/cascade-limiter.ts',
      original: '>= CASCADES_MAX',
      mutated: '> CASCADES_MAX',
      tests: ['integration/engine/chains.test.ts'],
    },
    {
      name: 'workflows trigger each other once more than the limit',
      file: 'src/engine/mailbox/cascade-limiter.ts',
      original: 'export const DEPTH_MAX = 8',
      mutated: 'export const DEPTH_MAX = 9',
      tests: ['integration/engine/mailboxes.test.ts'],
    },
    {
      name: 'a human reply pauses workflows that are to continue',
      file: 'src/engine/mailbox/human-takeover.ts',
      original: '(pauseOnHumanReply || !this.#isByReply)',
      mutated: '(pauseOnHumanReply || this.#isByReply)',
    },
    {
      name: 'mailbox items that fail get a sixth attempt',
      file: MAILBOX,
      original: 'const ATTEMPTS_MAX = 5',
      mutated: 'const ATTEMPTS_MAX = 6',
      tests: STORED,
    },
    {
      name: 'mailbox items that fail get only four attempts',
      file: MAILBOX,
      original: 'const ATTEMPTS_MAX = 5',
      mutated: 'const ATTEMPTS_MAX = 4',
      tests: STORED,
    },
    {
      name: 'concurrent jobs each count an attempt of one failure',
      file: MAILBOX,
      original: 'and id = ${id} and due_at <= ${now}`',
      mutated: 'and id = ${id}`',
      tests: STORED,
    },
    {
      name: 'the backoff of a failing item does not grow',
      file: MAILBOX,
      original: "due_at = ${now}::timestamptz + interval '5 seconds' * 3 ^ attempts",
      mutated: "due_at = ${now}::timestamptz + interval '5 seconds'",
      tests: STORED,
    },
    {
      name: 'an item overtakes an earlier one that waits for its retry',
      file: MAILBOX,
      original: 'and failed.retry_at > ${now} and failed.id < i.id)',
      mutated: 'and false)',
      tests: ['integration/engine/mailbox-order.test.ts', 'integration/engine/transient-failures.test.ts'],
    },
    {
      name: 'a backoff is declared while a message is being stored',
      file: 'src/engine/mailbox/handle-failure.ts',
      original: `    await port.store.lockMailboxes(tx, [mailbox])
    await port.store.postponeItem`,
      mutated: '    await port.store.postponeItem',
      tests: STORED,
    },
    {
      name: 'mailboxes are not locked while they are advanced',
      file: MAILBOX,
      original: 'and id = any(${ids}) order by id for no key update`',
      mutated: 'and id = any(${ids}) order by id`',
      tests: ['integration/runs/run-races.test.ts', 'integration/engine/mailboxes.test.ts'],
    },
    {
      name: 'items are claimed that are not due',
      file: MAILBOX,
      original: 'return sqlFragment`i.due_at <= ${now} and not exists (',
      mutated: 'return sqlFragment`not exists (',
      tests: STORED,
    },
    {
      name: 'an item that is due at once is due by the clock of its process',
      file: MAILBOX,
      original: 'dueAt: dueAt ?? DUE_AT_ONCE',
      mutated: 'dueAt: dueAt ?? createdAt',
      tests: ['integration/engine/different-clocks.test.ts'],
    },
    {
      name: 'the ID of a run depends on the clock of its process',
      file: 'src/engine/model/new-run.ts',
      original: 'return idAfter(!parentRunId && eventId > newestId ? eventId : newestId, randomId)',
      mutated: 'return randomId',
      tests: ['integration/engine/different-clocks.test.ts'],
    },
    {
      name: 'items are processed in another order than they arrived',
      file: MAILBOX,
      original: 'rows.sort((a, b) => (a.id < b.id ? -1 : 1))',
      mutated: 'rows.sort((a, b) => (a.id < b.id ? 1 : -1))',
      tests: [...STORED, 'integration/channels/message-order.test.ts'],
    },
    {
      name: 'a wait that has ended keeps its timer',
      file: 'src/features/automation/store/run-store.ts',
      original: 'delete from run_waits where tenant_id = ${tx.tenantId} and run_id',
      mutated: 'delete from run_waits where tenant_id = ${tx.tenantId} and false and run_id',
      tests: ['integration/engine/waits.test.ts'],
    },
    {
      name: 'two processes fire one timer',
      file: 'src/features/automation/fire-due-timers.ts',
      original: 'for update skip locked',
      mutated: '',
      equivalent: 'The update itself locks the rows and checks due_at again; the clause only avoids waiting',
    },
    {
      name: 'an item has no attempts left after a run failed because of it',
      file: 'src/engine/mailbox/handle-failure.ts',
      original: 'await store.resetAttempts(tx, mailbox, item.id)',
      mutated: '',
      tests: ['integration/api/dead-letters.test.ts'],
    },
    {
      name: 'an outage costs a mailbox item an attempt',
      file: 'src/engine/mailbox/handle-failure.ts',
      original: 'item.isOld || !port.isTransient(error)',
      mutated: 'true',
      tests: STORED,
    },
    {
      name: 'an item whose statement always times out blocks its mailbox for ever',
      file: 'src/engine/mailbox/handle-failure.ts',
      original: 'return item.isOld || ',
      mutated: 'return ',
      tests: STORED,
    },
  ],
}
