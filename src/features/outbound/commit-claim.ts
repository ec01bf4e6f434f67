import { retry } from '../../platform/concurrency/retry.ts'
import { isOutage } from '../../platform/database/database.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { UnavailableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { TransactionOptions } from '../../scope/dependencies.ts'
import { addMs, SECOND } from '../../platform/time.ts'
import { type ClaimedMessage, claimMessages, type ClaimRequest } from './claim-messages.ts'

/** Well before the claim expires, after which the messages fail. */
const CONFIRM_MAX_MS = 30 * SECOND
const CONFIRM_ATTEMPTS_MAX = 20

/** The messages that a transaction has claimed, and its ID if it has claimed any. */
export type Claim = { claimed: ClaimedMessage[]; transactionId: string | undefined }

/** Claims messages in a transaction of `commitClaim`. */
export async function claimInTransaction(tx: Scope, request: ClaimRequest): Promise<Claim> {
  const [claimed, transactionId] = await Promise.all([claimMessages(tx, request), readTransactionId(tx)])
  return { claimed, transactionId }
}

/**
 * Executes work that claims messages, and commits. If the connection is lost during the commit, the database is asked for
 * its result: without it, messages that were claimed and never sent would become `delivery_unknown`.
 */
export async function commitClaim<T extends Claim>(
  scope: Scope,
  work: (tx: Scope) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const attempt: { claim?: T; confirmedUntil?: Date } = {}
  const execute = async (tx: Scope) => {
    delete attempt.claim
    attempt.claim = await work(tx)
    // Counted from here, as the work may have waited for locks.
    attempt.confirmedUntil = addMs(scope.now(), CONFIRM_MAX_MS)
    return attempt.claim
  }
  try {
    return await scope.transaction(execute, options)
  } catch (error) {
    const { claim, confirmedUntil = scope.now() } = attempt
    if (claim?.transactionId === undefined || !isOutage(error)) throw error
    const isCommitted = await retry(() => wasCommitted(scope, claim), {
      isRetryable: isOutage,
      mayContinue: () => scope.now() < confirmedUntil,
      attemptsMax: CONFIRM_ATTEMPTS_MAX,
      delayMs: SECOND / 10,
      delayMaxMs: 5 * SECOND,
    })
    if (isCommitted) return claim
    throw error
  }
}

/** Reads it in a statement of its own: within the claim, a distributed database would return that of one of its nodes. */
async function readTransactionId(tx: Scope): Promise<string | undefined> {
  const [row] = await tx.sql<{ id: string }>('readTransactionId')`select pg_current_xact_id()::text as id`
  return row?.id
}

/**
 * Returns true if the transaction was committed. The claims are looked up, too: after a crash or a failover that lost
 * transactions, the ID may be that of another one, and another process may have made the same attempt: the IDs of answers
 * are derived, so it sends a message of the same ID.
 */
async function wasCommitted(scope: Scope, { claimed, transactionId = '' }: Claim): Promise<boolean> {
  const [transaction] = await scope.sql<{ status: string | null }>('readTransactionStatus')`
    select pg_xact_status(${transactionId}::xid8) as status`
  if (transaction?.status === 'in progress') throw new UnavailableError('The commit is still in progress', 1)
  if (transaction?.status !== 'committed') return false
  const claims = claimed.map(({ conversationId, messageId, attempt, leasedAt }) => ({
    conversationId,
    messageId,
    attempt,
    leasedAt,
  }))
  const [found] = await scope.sql<{ count: number }>('countClaims')`
    select count(*) as count
     from jsonb_to_recordset(${toRecordset(claims)}::jsonb) as x (conversation_id uuid, message_id uuid, attempt integer, leased_at timestamptz)
     join outbox o on o.tenant_id = ${scope.tenantId} and o.conversation_id = x.conversation_id and o.message_id = x.message_id
       and o.attempts = x.attempt and o.leased_at = x.leased_at`
  return found?.count === claimed.length
}
