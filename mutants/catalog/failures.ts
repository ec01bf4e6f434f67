import type { Area } from '../mutant.ts'

const FAILURE = 'src/engine/mailbox/handle-failure.ts'
const SPLIT = 'src/platform/database/split-on-failure.ts'
const CLAIM = 'src/features/outbound/commit-claim.ts'

/** What is done when a statement, a commit or a part of a batch fails. */
export const FAILURES: Area = {
  name: 'failures',
  tests: ['integration/engine/batches.test.ts', 'integration/channels/delivery-in-progress.test.ts'],
  mutants: [
    {
      name: 'the first item that a batch has no time for is lost',
      file: 'src/engine/mailbox/process-items.ts',
      original: 'return items.slice(index)',
      mutated: 'return items.slice(index + 1)',
      tests: ['integration/engine/batches.test.ts'],
    },
    {
      name: 'only the first mailbox that failed alone is advanced item by item',
      file: 'src/engine/mailbox/advance.ts',
      original: 'for (const mailbox of failed) await',
      mutated: 'for (const mailbox of failed.slice(0, 1)) await',
      tests: ['integration/engine/batches.test.ts'],
    },
    {
      name: 'the first item of a key whose lock is not available is acknowledged and not stored',
      file: SPLIT,
      original: 'for (const item of failed) failures',
      mutated: 'for (const item of failed.slice(1)) failures',
      tests: ['integration/channels/inbound-batches.test.ts'],
    },
    {
      name: 'parts of a batch that failed wait for locks like the whole',
      file: SPLIT,
      original: 'isFirst ? {} : { lockTimeoutMs: LOCK_TIMEOUT_MS }',
      mutated: '{}',
      tests: ['unit/platform/split-on-failure.test.ts'],
    },
    {
      name: 'the items of a key are attempted from the last one to the first',
      file: SPLIT,
      original: 'part.map((item) => [item])',
      mutated: 'part.map((item) => [item]).reverse()',
      tests: ['unit/platform/split-on-failure.test.ts'],
    },
    {
      name: 'an outage does not end the attempts at the rest of a batch',
      file: SPLIT,
      original: 'const isOver = isGeneralOutage(error)',
      mutated: 'const isOver = false',
      tests: ['integration/channels/inbound-batches.test.ts'],
    },
    {
      name: 'a lock that one outcome needs keeps those of other sends from being stored',
      file: 'src/features/outbound/deliver-messages.ts',
      original: 'toKey: ({ message }) => message.messageId,',
      mutated: "toKey: () => '',",
      tests: ['integration/channels/delivery-in-progress.test.ts'],
    },
    {
      name: 'a transient failure of the last attempt gives a webhook up',
      file: 'src/features/inbound/retry-webhooks.ts',
      original: 'if (isTransient(error))',
      mutated: 'if (false)',
      tests: ['integration/channels/kept-webhooks.test.ts'],
    },
    {
      name: 'a webhook that is to be retried has no body because a part of it was stored without',
      file: 'src/features/provider-webhooks/keep-webhooks.ts',
      original: ', body = greatest(excluded.body, channel_webhooks.body)',
      mutated: '',
      tests: ['integration/channels/webhook-quotas.test.ts'],
    },
    {
      name: 'an outage at the last attempt makes a dead letter',
      file: FAILURE,
      original: 'if (!failed.item.isLastAttempt || !countsAttempt(port, failed)) return',
      mutated: 'if (!failed.item.isLastAttempt) return',
      tests: ['integration/engine/transient-failures.test.ts'],
    },
    {
      name: 'an outage while the guilty run is failed makes a dead letter',
      file: FAILURE,
      original: 'if (port.isTransient(secondError)) throw secondError',
      mutated: '',
      tests: ['integration/engine/damaged-runs.test.ts'],
    },
    {
      name: 'a commit that was refused is looked up',
      file: CLAIM,
      original: 'if (claim?.transactionId === undefined || !isOutage(error)) throw error',
      mutated: 'if (claim?.transactionId === undefined) throw error',
      equivalent:
        'The database says of a transaction that it refused to commit that it was aborted; the error is the same',
    },
    {
      name: 'messages are sent although the claims of some of them are gone',
      file: CLAIM,
      original: 'return found?.count === claimed.length',
      mutated: 'return (found?.count ?? 0) > 0',
      tests: ['integration/channels/delivery-in-progress.test.ts'],
    },
    {
      name: 'a claim that was given up since counts as present',
      file: CLAIM,
      original: ' and o.leased_at = x.leased_at',
      mutated: '',
      tests: ['integration/channels/delivery-in-progress.test.ts'],
    },
    {
      name: 'a claim of another process for the same attempt counts as present',
      file: CLAIM,
      original: 'o.leased_at = x.leased_at',
      mutated: 'o.leased_at is not null',
      tests: ['integration/channels/doubtful-claims.test.ts'],
    },
    {
      name: 'a claim of another attempt counts as present',
      file: CLAIM,
      original: 'and o.attempts = x.attempt and o.leased_at = x.leased_at',
      mutated: 'and o.leased_at = x.leased_at',
      tests: ['integration/channels/delivery-in-progress.test.ts'],
    },
    {
      name: 'work of a transaction that failed claims messages in the next one',
      file: 'src/features/execution/send-after-commit.ts',
      original: 'if (tx !== this.#open) return',
      mutated: '',
      tests: ['integration/channels/send-after-commit.test.ts'],
    },
    {
      name: 'a status is promoted without the lock of its message',
      file: 'src/features/outbound/statuses/apply-statuses.ts',
      original: 'await lockMessages(tx, messageIds)',
      mutated: '',
      tests: ['integration/channels/early-statuses.test.ts'],
    },
    {
      name: 'a message that is with the provider leaves the outbox when its run is canceled',
      file: 'src/features/outbound/cancel-queued-messages.ts',
      original: `where \${sqlText(allowsSql('cancel'))} order by m.id for no key update of m),
     removed as (
       delete from outbox o using locked
       where o.tenant_id = \${tx.tenantId} and o.conversation_id = locked.conversation_id and o.message_id = locked.id
         and o.leased_at is null`,
      mutated: `where true order by m.id for no key update of m),
     removed as (
       delete from outbox o using locked
       where o.tenant_id = \${tx.tenantId} and o.conversation_id = locked.conversation_id and o.message_id = locked.id`,
      tests: ['integration/runs/run-races.test.ts'],
    },
    {
      name: 'a canceled run removes a claimed message that is still queued',
      file: 'src/features/outbound/cancel-queued-messages.ts',
      original: '         and o.leased_at is null\n',
      mutated: '',
      equivalent:
        'A claimed message is not queued: status and claim change in one statement, which locks the message first',
    },
  ],
}
