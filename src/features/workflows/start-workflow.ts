import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { type AppError, ConflictError, UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { getRun } from '../runs/queries.ts'
import type { Run } from '../runs/schema.ts'
import { type NotStarted, startRuns } from '../runs/start-runs.ts'
import type { StartWorkflow } from './schema.ts'

/**
 * Starts a run on purpose, behind whatever its conversation is still doing.
 * @throws ConflictError `workflow_not_published`, `already_running`
 * @throws UnprocessableError `trigger_not_found`, `type_mismatch`, `condition_not_met`, `conversation_contact_mismatch`
 */
export function startWorkflow(scope: Scope, { workflowId, ...given }: StartWorkflow): Promise<Run> {
  return scope.transaction(async (tx) => {
    await tx.get(WorkflowRow, workflowId)
    const place = await placeOf(tx, given)
    const { trigger, input = null, variables } = given
    const [started] = await startRuns(tx, [
      {
        workflowId,
        trigger: { type: trigger },
        input,
        ...place,
        ...(variables ? { variables } : {}),
        startedBy: { type: tx.actor.type, id: tx.actor.id },
      },
    ])
    if (!started || 'refused' in started) throw refusalOf(started?.refused ?? 'not_published', trigger)
    return getRun(tx, { runId: started.runId })
  })
}

async function placeOf(tx: Scope, { contactId, conversationId }: Pick<StartWorkflow, 'contactId' | 'conversationId'>) {
  if (contactId !== undefined) await tx.get(ContactRow, contactId)
  if (conversationId === undefined) return { contactId: contactId ?? null }
  const conversation = await tx.get(ConversationRow, conversationId)
  if (contactId !== undefined && conversation.contactId !== contactId) {
    throw new UnprocessableError(
      'conversation_contact_mismatch',
      'This conversation is with another contact. Leave contactId out',
    )
  }
  return { contactId: conversation.contactId, conversationId }
}

function refusalOf(refused: NotStarted, trigger: string): AppError {
  switch (refused) {
    case 'trigger_not_found':
      return new UnprocessableError(
        'trigger_not_found',
        `The published version has no "${trigger}" trigger. Add {"type": "${trigger}"} to its triggers and publish it`,
      )
    case 'invalid_variables':
      return new UnprocessableError(
        'type_mismatch',
        'A variable cannot hold what it is given: see how the workflow declares it',
      )
    case 'condition_not_met':
      return new UnprocessableError('condition_not_met', `The condition of the "${trigger}" trigger does not hold`)
    case 'already_running':
    case 'duplicate':
      return new ConflictError(
        'already_running',
        'The workflow is already running there, and its re-entry policy is "ignore"',
      )
    case 'not_published':
      return new ConflictError('workflow_not_published', 'The workflow is not published. Publish it first')
  }
}
