import { Contact as ContactRow } from '../../models/contacts.ts'
import { Conversation as ConversationRow } from '../../models/messaging.ts'
import { Workflow as WorkflowRow } from '../../models/automation.ts'
import {
  type AppError,
  BudgetExceededError,
  ConflictError,
  NotFoundError,
  UnprocessableError,
} from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { countStatuses, toResults } from '../../trpc/bulk.ts'
import { contactBlockedError } from '../contacts/errors.ts'
import { getRun } from '../runs/queries.ts'
import type { Run } from '../runs/schema.ts'
import { alreadyRunningError, type StartRejection, startRuns } from '../runs/start-runs.ts'
import type { BulkStart, BulkStartResults, StartWorkflow } from './schema.ts'

/**
 * Starts a run by request. It is queued behind the pending work of its conversation.
 * @throws ConflictError `workflow_not_published`, `already_running`
 * @throws UnprocessableError `trigger_not_found`, `type_mismatch`, `contact_blocked`, `condition_not_met`,
 * `conversation_contact_mismatch`
 */
export function startWorkflow(scope: Scope, { workflowId, ...input }: StartWorkflow): Promise<Run> {
  return scope.transaction(async (tx) => {
    await tx.get(WorkflowRow, workflowId)
    const target = await resolveTarget(tx, input)
    const { trigger, variables } = input
    const [result] = await startRuns(tx, [
      {
        workflowId,
        trigger: { type: trigger },
        input: input.input ?? null,
        ...target,
        ...(variables ? { variables } : {}),
        startedBy: { type: tx.actor.type, id: tx.actor.id },
      },
    ])
    if (!result || 'rejection' in result) throw startError(result?.rejection ?? 'not_published', trigger)
    return getRun(tx, { runId: result.runId })
  })
}

/**
 * Starts a run for each of up to 500 contacts, as `startWorkflow` does, in one transaction. A contact for which none may be
 * started fails by itself.
 * @throws ConflictError `workflow_not_published`
 * @throws UnprocessableError `trigger_not_found`, `type_mismatch`
 */
export function bulkStart(scope: Scope, { workflowId, ...input }: BulkStart): Promise<BulkStartResults> {
  return scope.transaction(async (tx) => {
    await tx.get(WorkflowRow, workflowId)
    const contactIds = input.contactIds.map((id) => id.toLowerCase())
    const existing = await listExisting(tx, contactIds)
    const outcomes = await startForContacts(tx, [...existing], { workflowId, ...input })
    const results = toResults(contactIds.map((id) => outcomes.get(id) ?? new NotFoundError('Contact')))
    return { results, counts: countStatuses(results, ['started', 'failed']) }
  })
}

/** Rejections that are the same for all contacts. */
const OF_WORKFLOW = new Set<StartRejection>(['not_published', 'trigger_not_found', 'invalid_variables'])

type Outcome = { status: 'started'; id: string } | AppError

async function startForContacts(
  tx: Scope,
  contactIds: string[],
  { workflowId, input, variables, trigger }: Omit<BulkStart, 'contactIds'>,
): Promise<Map<string, Outcome>> {
  const startedBy = { type: tx.actor.type, id: tx.actor.id }
  const results = await startRuns(
    tx,
    contactIds.map((contactId) => ({
      workflowId,
      contactId,
      trigger: { type: trigger },
      input: input ?? null,
      ...(variables ? { variables } : {}),
      startedBy,
    })),
  )
  const outcomes = results.map((result): Outcome => {
    if ('runId' in result) return { status: 'started', id: result.runId }
    const error = startError(result.rejection, trigger)
    if (OF_WORKFLOW.has(result.rejection)) throw error
    return error
  })
  return new Map(contactIds.flatMap((id, index) => (outcomes[index] ? [[id, outcomes[index]] as const] : [])))
}

async function listExisting(tx: Scope, contactIds: string[]): Promise<Set<string>> {
  const rows = await tx.sql<{ id: string }>('listExistingContacts')`
    select id from contacts where tenant_id = ${tx.tenantId} and id = any(${contactIds.filter(isUuid)}) order by id`
  return new Set(rows.map(({ id }) => id))
}

async function resolveTarget(
  tx: Scope,
  { contactId, conversationId }: Pick<StartWorkflow, 'contactId' | 'conversationId'>,
) {
  if (contactId !== undefined) await tx.get(ContactRow, contactId)
  if (conversationId === undefined) return { contactId: contactId ?? null }
  const conversation = await tx.get(ConversationRow, conversationId)
  if (contactId !== undefined && conversation.contactId !== contactId) {
    throw new UnprocessableError(
      'conversation_contact_mismatch',
      'The conversation belongs to a different contact. Omit contactId, or pass the contact of the conversation',
    )
  }
  return { contactId: conversation.contactId, conversationId }
}

function startError(rejection: StartRejection, trigger: string): AppError {
  switch (rejection) {
    case 'trigger_not_found':
      return new UnprocessableError(
        'trigger_not_found',
        `The published version has no "${trigger}" trigger. Add {"type": "${trigger}"} to its triggers and publish it`,
      )
    case 'invalid_variables':
      return new UnprocessableError(
        'type_mismatch',
        'The value of a variable does not have its declared type. See the variables of the workflow',
      )
    case 'contact_blocked':
      return contactBlockedError('starts no runs')
    case 'condition_not_met':
      return new UnprocessableError(
        'condition_not_met',
        `The condition of the "${trigger}" trigger is not met. Compare its "if" with this contact`,
      )
    case 'budget_exceeded':
      return new BudgetExceededError(
        `The condition of the "${trigger}" trigger takes too much work for so many contacts. Start the others with another call`,
      )
    case 'already_running':
    case 'duplicate':
      return alreadyRunningError()
    case 'not_published':
      return new ConflictError('workflow_not_published', 'The workflow is not published. Publish it first')
  }
}
