import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { CompiledTrigger } from '../../engine/model/trigger.ts'
import type { Workflow as WorkflowRow } from '../../models/automation.ts'
import { Contact as ContactRow } from '../../models/contacts.ts'
import type { Scope } from '../../scope/scope.ts'
import { listPublishedProblems } from '../automation/published-workflows.ts'
import { automationPausedSql } from '../conversations/automation.ts'
import { countDeadLetters } from '../dead-letters/queries.ts'
import type { TriggerEvaluations } from './schema.ts'

type Reason = TriggerEvaluations['reasons'][number]

/** Types of triggers that no event of a contact can fire. */
const CALL_TYPES = new Set<string>(['api', 'manual', 'webhook', 'schedule'])

type BlockingQuery = {
  workflow: WorkflowRow
  contactId: string
  /** The published version, unless it cannot be executed. */
  compiled: CompiledDefinition | undefined
  since: Date
  hasNoEvents: boolean
}

/** Finds what currently prevents a contact from starting a workflow, whatever the event. */
export async function findBlockingReasons(
  scope: Scope,
  { workflow, contactId, compiled, since, hasNoEvents }: BlockingQuery,
): Promise<Reason[]> {
  const reasons = statusReasons(workflow)
  if (workflow.status === 'published') {
    reasons.push(...(compiled ? triggerReasons(compiled.triggers) : [await unusableReason(scope, workflow)]))
  }
  const { blocked } = await scope.get(ContactRow, contactId)
  if (blocked) reasons.push(CONTACT_BLOCKED)
  const paused = await findPause(scope, contactId)
  if (paused) reasons.push(paused)
  reasons.push(...deadLetterReasons(await countDeadLetters(scope, { contactId })))
  if (hasNoEvents && reasons.length === 0) reasons.push(noEventReason(workflow, since))
  return reasons
}

const CONTACT_BLOCKED: Reason = {
  code: 'contact_blocked',
  message: 'The contact is blocked. Unblock it to let workflows start',
}

/** Names the period in which no event matched: events before publishing were never evaluated for the workflow. */
function noEventReason({ publishedAt }: WorkflowRow, since: Date): Reason {
  const period =
    publishedAt && publishedAt > since
      ? `since the workflow was published at ${publishedAt.toISOString()}; earlier events do not start it`
      : 'in the last 7 days'
  const message = `No event for a trigger of the workflow is recorded for this contact ${period}`
  return { code: 'no_matching_event', message }
}

function statusReasons({ status }: WorkflowRow): Reason[] {
  if (status === 'draft')
    return [{ code: 'workflow_not_published', message: 'The workflow is not published. Publish it' }]
  if (status === 'paused')
    return [{ code: 'workflow_paused', message: 'The workflow is paused and starts no runs. Publish it again' }]
  if (status === 'archived')
    return [
      {
        code: 'workflow_archived',
        message: 'The workflow is archived and starts no runs. Unarchive it and publish it',
      },
    ]
  return []
}

async function unusableReason(scope: Scope, { id: workflowId, version }: WorkflowRow): Promise<Reason> {
  const problems = (await listPublishedProblems(scope, [{ workflowId, version }])).get(workflowId) ?? []
  const message = `The published version cannot be executed: ${problems.join('. ')}. Publish the workflow again`
  return { code: 'workflow_unusable', message }
}

function triggerReasons(triggers: CompiledTrigger[]): Reason[] {
  if (triggers.some(({ type }) => !CALL_TYPES.has(type))) return []
  const types = triggers.map(({ type }) => type).join(', ')
  const message =
    triggers.length === 0
      ? 'The published version has no trigger. Add one and publish'
      : `The workflow only starts when it is called (${types}). Add a trigger for an event of the contact and publish`
  return [{ code: 'no_trigger', message }]
}

function deadLetterReasons(count: number): Reason[] {
  if (count === 0) return []
  const items = count === 1 ? '1 item of the contact is' : `${count} items of the contact are`
  const message = `${items} dead-lettered, because processing failed. Read /api/dead-letters, then retry or discard`
  return [{ code: 'dead_lettered', message }]
}

async function findPause(scope: Scope, contactId: string): Promise<Reason | undefined> {
  const [pause] = await scope.sql<{ conversationId: string; until: Date | null }>('findPause')`
    select id as conversation_id, automation_until as until from conversations
     where tenant_id = ${scope.tenantId} and contact_id = ${contactId} and ${automationPausedSql(scope.now())}
     order by last_message_at desc nulls last limit 1`
  if (!pause) return undefined
  const until = pause.until ? ` until ${pause.until.toISOString()}` : ''
  const message = `Automation is paused${until} in conversation ${pause.conversationId}. Resume it there to let workflows start`
  return { code: 'automation_paused', message }
}
