import { DeadLetter as DeadLetterRow } from '../../models/automation.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { DUE_AT_ONCE } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { advanceJob } from '../automation/jobs.ts'
import { toEvent } from './store-dead-letter.ts'
import { countDeadLetters, getDeadLetter, isImpossible, toColumns } from './queries.ts'
import type { DeadLetter, DeadLetterRef, RetriedDeadLetters, RetryDeadLetters } from './schema.ts'

/**
 * Puts a dead letter back into its mailbox, with all its attempts.
 * @throws NotFoundError also if it was retried or discarded concurrently
 */
export function retryDeadLetter(scope: Scope, { deadLetterId }: DeadLetterRef): Promise<DeadLetter> {
  return scope.transaction(async (tx) => {
    const letter = await getDeadLetter(tx, { deadLetterId })
    const retried = await putBack(tx, [letter.id])
    if (retried === 0) throw new NotFoundError('Dead letter')
    return letter
  })
}

/** Puts the oldest dead letters back into their mailboxes. Concurrent calls retry different ones. */
export async function retryDeadLetters(
  scope: Scope,
  { limit, ...filters }: RetryDeadLetters,
): Promise<RetriedDeadLetters> {
  if (isImpossible(filters)) return { retried: 0, remaining: 0 }
  return scope.transaction(async (tx) => {
    const oldest = await tx
      .query(DeadLetterRow)
      .select('id')
      .where(toColumns(filters))
      .orderBy(['failedAt', 'id'])
      .limit(limit)
      .forUpdate()
      .skipLocked()
    const retried = await putBack(
      tx,
      oldest.map(({ id }) => id),
    )
    if (retried === 0) tx.audit?.drop()
    return { retried, remaining: await countDeadLetters(tx, filters) }
  })
}

/**
 * Deletes a dead letter for good.
 * @throws NotFoundError also if it was retried or discarded concurrently
 */
export async function discardDeadLetter(scope: Scope, { deadLetterId }: DeadLetterRef): Promise<Record<string, never>> {
  await scope.transaction(async (tx) => {
    const letter = await getDeadLetter(tx, { deadLetterId })
    const deleted = await tx.query(DeadLetterRow).where('id', letter.id).delete()
    if (deleted === 0) throw new NotFoundError('Dead letter')
    await tx.record(toEvent('discarded', letter, tx))
  })
  return {}
}

/**
 * Moves dead letters to their mailboxes. They keep their IDs, so they are processed before the items that are still there,
 * and start no run twice. Returns the number of those that were still dead letters.
 */
async function putBack(tx: Scope, ids: string[]): Promise<number> {
  if (ids.length === 0) return 0
  const retried = await tx.sql<DeadLetterRow>('takeDeadLetters')`
    delete from dead_letters where tenant_id = ${tx.tenantId} and id = any(${ids}) returning *`
  if (retried.length === 0) return 0
  const items = retried.map(({ mailboxKind, mailboxId, id, kind, payload, createdAt }) => {
    const item = { mailboxKind, mailboxId, id, kind, payload, createdAt }
    return { ...item, attempts: 0, dueAt: DUE_AT_ONCE }
  })
  await tx.sql('putBack')`${insertRowsSql('mailbox_items', tx.tenantId, items)}`
  tx.audit?.addTargets(
    'dead_letter',
    retried.map(({ id }) => id),
  )
  await tx.record(...retried.map((letter) => toEvent('retried', letter, tx)))
  tx.enqueue(advanceJob(tx.tenantId))
  return retried.length
}
