import { DeadLetter as DeadLetterRow } from '../../models/automation.ts'
import { NotFoundError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { toEvent } from './events.ts'
import { getDeadLetter } from './queries.ts'
import type { DeadLetterRef } from './schema.ts'

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
