import { RunStep as StepRow } from '../../models/automation.ts'
import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { Message as MessageRow } from '../../models/messaging.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { readItems } from '../paging/read-items.ts'
import { findRun, RUN_SOURCE, type RunDetails } from '../runs/queries.ts'
import { explainInbound } from './explain-inbound.ts'
import { eventLink, messageLink, runLink, statusLinks, stepLink, triggerLink } from './links.ts'
import type { ExplainMessage, Explanation, Link } from './schema.ts'

type Origin = { by: string; links: Link[] }

const SENDERS: Record<string, string> = {
  user: 'a member of the workspace',
  key: 'an API key',
  api: 'an API call',
  workflow: 'a workflow whose run has been deleted',
  broadcast: 'a broadcast that has been deleted',
  system: 'the system',
}

/** Explains the causes and the effects of a message. */
export async function explainMessage(scope: Scope, { messageId }: ExplainMessage): Promise<Explanation> {
  const message = await scope.get(MessageRow, messageId)
  const explain = message.direction === 'inbound' ? explainInbound : explainOutbound
  return { messageId: message.id, ...(await explain(scope, message)) }
}

/** Explains who or what sent a message, with its status history. */
async function explainOutbound(scope: Scope, message: MessageRow): Promise<Omit<Explanation, 'messageId'>> {
  const origin =
    (await findRunOrigin(scope, message)) ?? (await findBroadcastOrigin(scope, message)) ?? toSenderOrigin(message)
  const isNote = message.direction === 'internal'
  const statuses = isNote ? [] : await statusLinks(scope, message)
  return {
    summary: `${isNote ? 'Written' : 'Sent'} by ${origin.by}`,
    links: [...origin.links, messageLink(message), ...statuses],
  }
}

async function findRunOrigin(scope: Scope, message: MessageRow): Promise<Origin | undefined> {
  if (message.runId === null) return undefined
  const run = await findRun(scope, message.runId)
  if (!run) return undefined
  const callers = await findCallers(scope, run)
  const first = callers[0] ?? run
  const trigger = first.trigger.messageId === null ? undefined : await scope.find(MessageRow, first.trigger.messageId)
  const [step, previous] = await findSteps(scope, message)
  return {
    by: `step "${message.stepId}" of the workflow "${run.workflowName}", version ${run.workflowVersion}`,
    links: [
      eventLink(first, trigger),
      await triggerLink(scope, first, trigger),
      ...callers.map((caller) => runLink(caller, 'called')),
      runLink(run, 'sent'),
      ...(step ? [stepLink(step, previous)] : []),
    ],
  }
}

/** Finds the chain of runs that called this one, outermost first. */
async function findCallers(scope: Scope, { id, parentRunId }: RunDetails): Promise<RunDetails[]> {
  if (parentRunId === null) return []
  const rows = await scope.sql<{ id: string }>('findCallers')`
    with recursive callers as (
       select r.id, r.parent_run_id, 0 as distance from runs r where r.tenant_id = ${scope.tenantId} and r.id = ${id}
       union all
       select r.id, r.parent_run_id, c.distance + 1 from callers c
       join runs r on r.tenant_id = ${scope.tenantId} and r.id = c.parent_run_id)
     select id from callers where distance > 0 order by distance desc`
  const ids = rows.map((row) => row.id)
  const runs = await readItems<RunDetails>(scope, 'findCallers', RUN_SOURCE, sqlFragment`runs.id = any(${ids})`)
  return runs.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}

/**
 * Finds the step that sent the message, and the step before it. A step that asked several times only refers to its last
 * question, so earlier questions are found by step ID and time.
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
  const previous = await scope.query(StepRow).findOne({ runId, index: step.index - 1 })
  return previous ? [step, previous] : [step]
}

async function findBroadcastOrigin(scope: Scope, message: MessageRow): Promise<Origin | undefined> {
  if (message.broadcastId === null) return undefined
  const broadcast = await scope.find(BroadcastRow, message.broadcastId)
  if (!broadcast) return undefined
  const { id, name, status } = broadcast
  return { by: `the broadcast "${name}"`, links: [{ type: 'broadcast', id, name, status }] }
}

function toSenderOrigin({ sender: { type, id, name } }: MessageRow): Origin {
  return {
    by: (type === 'user' || type === 'key') && name ? name : (SENDERS[type] ?? type),
    links: [{ type: 'sender', sender: { type, id, name } }],
  }
}
