import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import { RunStep as StepRow } from '../../models/automation/run-step.ts'
import type { Scope } from '../../scope.ts'
import { runQuery } from '../runs/queries.ts'
import { messageLink, statusLinks, eventLink, type NamedRun, runLink, stepLink, triggerLink } from './links.ts'
import type { Link, Explanation } from './schema.ts'

/** Who or what sent a message, and how it fared. */
export async function explainOutbound(scope: Scope, message: MessageRow): Promise<Omit<Explanation, 'messageId'>> {
  const cause = (await causeInRun(scope, message)) ?? (await causeInBroadcast(scope, message)) ?? causeInPerson(message)
  const isNote = message.direction === 'internal'
  const statuses = isNote ? [] : await statusLinks(scope, message)
  return {
    summary: `${isNote ? 'Written' : 'Sent'} by ${cause.by}`,
    links: [...cause.links, messageLink(message), ...statuses],
  }
}

type Cause = { by: string; links: Link[] }

async function causeInRun(scope: Scope, message: MessageRow): Promise<Cause | undefined> {
  if (message.runId === null) return undefined
  const run = (await runQuery(scope).findOne('id', message.runId)) as NamedRun | undefined
  if (!run) return undefined
  const callers = await findCallers(scope, run)
  const first = callers[0] ?? run
  const trigger = first.trigger.messageId === null ? undefined : await scope.find(MessageRow, first.trigger.messageId)
  const [step, before] = await findSteps(scope, message)
  return {
    by: `step "${message.stepId}" of the workflow "${run.workflowName}", version ${run.workflowVersion}`,
    links: [
      eventLink(first, trigger),
      await triggerLink(scope, first, trigger),
      ...callers.map((caller) => runLink(caller, 'called')),
      runLink(run, 'sent'),
      ...(step ? [stepLink(step, before)] : []),
    ],
  }
}

/** The runs that called each other down to this one, the first of them first. */
async function findCallers(scope: Scope, { id, parentRunId }: NamedRun): Promise<NamedRun[]> {
  if (parentRunId === null) return []
  const { rows } = await scope.db.raw<{ rows: { id: string }[] }>(
    `with recursive callers as (
       select r.id, r.parent_run_id, 0 as distance from runs r where r.tenant_id = :tenantId and r.id = :id
       union all
       select r.id, r.parent_run_id, c.distance + 1 from callers c
       join runs r on r.tenant_id = :tenantId and r.id = c.parent_run_id)
     select id from callers where distance > 0 order by distance desc`,
    { tenantId: scope.tenantId, id },
  )
  const ids = rows.map((row) => row.id)
  const runs = (await runQuery(scope).whereIn('id', ids)) as NamedRun[]
  return runs.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}

/**
 * The step that sent the message, and the one before it. A step that asked several times names its last question, so an
 * earlier one is found by the step's name and its time.
 */
async function findSteps(scope: Scope, message: MessageRow): Promise<StepRow[]> {
  const { id, runId, stepId, createdAt } = message
  const step = await scope
    .query(StepRow)
    .where('runId', runId)
    .where((either) => either.where('messageId', id).orWhere({ stepId }))
    .where('startedAt', '<=', createdAt)
    .orderByRaw('message_id = ? desc nulls last, index desc', [id])
    .first()
  if (!step || step.index === 0) return step ? [step] : []
  const before = await scope.query(StepRow).findOne({ runId, index: step.index - 1 })
  return before ? [step, before] : [step]
}

async function causeInBroadcast(scope: Scope, message: MessageRow): Promise<Cause | undefined> {
  if (message.broadcastId === null) return undefined
  const broadcast = await scope.find(BroadcastRow, message.broadcastId)
  if (!broadcast) return undefined
  const { id, name, status } = broadcast
  return { by: `the broadcast "${name}"`, links: [{ kind: 'broadcast', id, name, status }] }
}

const SENDERS: Record<string, string> = {
  user: 'a person',
  api: 'a call of the API',
  workflow: 'a workflow whose run is no longer there',
  broadcast: 'a broadcast that is no longer there',
  system: 'Parley itself',
}

function causeInPerson({ sender: { type, id, name } }: MessageRow): Cause {
  return {
    by: type === 'user' && name ? name : (SENDERS[type] ?? type),
    links: [{ kind: 'sender', type, id, name }],
  }
}
