import type { Trigger } from '../../engine/language/definition/triggers.ts'
import type { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { AUTOMATION_PAUSED_SQL } from '../conversations/automation.ts'
import type { TriggerEvaluations } from './schema.ts'

type Reason = TriggerEvaluations['reasons'][number]

/** These start a workflow only when somebody names it. */
const CALLED = new Set<string>(['api', 'manual', 'webhook', 'schedule'])

type Asked = { workflow: WorkflowRow; contactId: string; triggers: Trigger[]; since: Date; isQuiet: boolean }

/** What keeps a workflow from being started by a contact now, whatever happens. */
export async function findObstacles(
  scope: Scope,
  { workflow, contactId, triggers, since, isQuiet }: Asked,
): Promise<Reason[]> {
  const reasons = [...statusReasons(workflow), ...triggerReasons(workflow, triggers)]
  const paused = await findPause(scope, contactId)
  if (paused) reasons.push(paused)
  if (isQuiet && reasons.length === 0) reasons.push(quietReason(workflow, since))
  return reasons
}

/** What happened before a workflow was published never started it, and was not looked at for it. */
function quietReason({ publishedAt }: WorkflowRow, since: Date): Reason {
  const span =
    publishedAt && publishedAt > since
      ? `since the workflow was published, at ${publishedAt.toISOString()}: what came before does not start it`
      : 'in the last 7 days'
  const message = `Nothing that a trigger of the workflow waits for has happened with this contact ${span}`
  return { code: 'no_matching_event', message }
}

function statusReasons({ status }: WorkflowRow): Reason[] {
  if (status === 'draft') return [{ code: 'not_published', message: 'The workflow is not published. Publish it' }]
  if (status === 'paused')
    return [{ code: 'workflow_paused', message: 'The workflow is paused and starts no runs. Publish it to go on' }]
  if (status === 'archived')
    return [
      {
        code: 'workflow_archived',
        message: 'The workflow is archived and starts no runs. Unarchive it and publish it',
      },
    ]
  return []
}

function triggerReasons({ status }: WorkflowRow, triggers: Trigger[]): Reason[] {
  if (status !== 'published' || triggers.some(({ type }) => !CALLED.has(type))) return []
  const types = triggers.map(({ type }) => type).join(', ')
  const message =
    triggers.length === 0
      ? 'The published version has no trigger. Add one and publish'
      : `The workflow starts only when it is called (${types}). Add a trigger for what the contact does, and publish`
  return [{ code: 'no_trigger', message }]
}

async function findPause(scope: Scope, contactId: string): Promise<Reason | undefined> {
  const [paused] = await selectRows<{ conversationId: string; until: Date | null }>(
    scope.db,
    `select id as conversation_id, automation_until as until from conversations
     where tenant_id = :tenantId and contact_id = :contactId and ${AUTOMATION_PAUSED_SQL}
     order by last_message_at desc nulls last limit 1`,
    { tenantId: scope.tenantId, contactId, now: scope.now() },
  )
  if (!paused) return undefined
  const until = paused.until ? ` until ${paused.until.toISOString()}` : ''
  const message = `Automation is paused${until} in conversation ${paused.conversationId}. Resume it there to let workflows start`
  return { code: 'automation_paused', message }
}
