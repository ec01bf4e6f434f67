import type { DeadLetter as DeadLetterRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Event } from '../../scope/dependencies.ts'

type Subject = Pick<DeadLetterRow, 'id' | 'contactId' | 'conversationId' | 'runId' | 'workflowId'>

/** Event of the life of a dead letter, with the user who retried or discarded it. */
export function toEvent(
  change: 'created' | 'retried' | 'discarded',
  { id, contactId, conversationId, runId, workflowId }: Subject,
  { actor }: Pick<Scope, 'actor'>,
): Event {
  const userId = actor.type === 'user' ? actor.id : null
  return {
    type: `dead_letter.${change}`,
    data: { deadLetterId: id, contactId, conversationId, runId, workflowId, userId },
  }
}
