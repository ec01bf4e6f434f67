import type { CompiledTrigger } from '../../engine/model/trigger.ts'
import type { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import type { Scope } from '../../scope.ts'
import type { TriggerEvaluations } from './schema.ts'

type Reason = TriggerEvaluations['reasons'][number]

/** These start a workflow only when somebody names it. */
const CALLED = new Set<string>(['api', 'manual', 'webhook', 'schedule'])

type Asked = { workflow: WorkflowRow; contactId: string; triggers: CompiledTrigger[]; since: Date; isQuiet: boolean }

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

function triggerReasons({ status }: WorkflowRow, triggers: CompiledTrigger[]): Reason[] {
  if (status !== 'published' || triggers.some(({ type }) => !CALLED.has(type))) return []
  const types = triggers.map(({ type }) => type).join(', ')
  const message =
    triggers.length === 0
      ? 'The published version has no trigger. Add one and publish'
      : `The workflow starts only when it is called (${types}). Add a trigger for what the contact does, and publish`
  return [{ code: 'no_trigger', message }]
}

async function findPause(scope: Scope, contactId: string): Promise<Reason | undefined> {
  const { rows } = await scope.db.raw<{ rows: { conversationId: string; until: Date | null }[] }>(
    `select id as "conversationId", automation_until as until from conversations
     where tenant_id = ? and contact_id = ? and automation_state = 'paused'
       and (automation_until is null or automation_until > ?)
     order by last_message_at desc nulls last limit 1`,
    [scope.tenantId, contactId, scope.now()],
  )
  const [paused] = rows
  if (!paused) return undefined
  const until = paused.until ? ` until ${paused.until.toISOString()}` : ''
  const message = `Automation is paused${until} in conversation ${paused.conversationId}. Resume it there to let workflows start`
  return { code: 'automation_paused', message }
}
