import type { RunStep as StepRow } from '../../models/automation.ts'
import type { Message as MessageRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import type { RunDetails } from '../runs/queries.ts'
import { describeTrigger } from './describe-trigger.ts'
import type { DeadLetter } from '../dead-letters/schema.ts'
import type { Link } from './schema.ts'

type Relation = Extract<Link, { type: 'run' }>['relation']

export function runLink(run: RunDetails, relation: Relation): Link {
  const { id, workflowId, workflowName, workflowVersion: version, status, replayOf, parentRunId } = run
  const at = run.startedAt ?? run.createdAt
  return { type: 'run', at, id, workflowId, workflowName, version, status, relation, parentRunId, replayOf }
}

type PreviousStep = Pick<StepRow, 'index' | 'stepId' | 'type' | 'branch'>

export function stepLink(step: StepRow, previous: PreviousStep | undefined): Link {
  const { id, index, stepId, name, type, status, branch, startedAt: at } = step
  const after = previous
    ? { index: previous.index, stepId: previous.stepId, type: previous.type, branch: previous.branch }
    : null
  return { type: 'step', at, id, index, stepId, name, stepType: type, status, branch, after }
}

export function eventLink(run: RunDetails, message: MessageRow | undefined): Link {
  const { triggerEventId: id, trigger, createdAt: at, startedBy } = run
  const summary = message ? { id: message.id, body: message.body } : null
  const starter = { type: startedBy.type, id: startedBy.id }
  return { type: 'event', at, id, eventType: trigger.type, message: summary, startedBy: starter }
}

export async function triggerLink(scope: Scope, run: RunDetails, message: MessageRow | undefined): Promise<Link> {
  const { workflowId, workflowVersion: version, trigger } = run
  const compiled = (await loadVersions(scope, [{ workflowId, version }])).get(`${workflowId}:${version}`)
  const sentence = describeTrigger({ trigger, body: message?.body ?? null, compiled })
  return { type: 'trigger', triggerType: trigger.type, message: sentence }
}

export function messageLink({ id, direction, body, status, error, createdAt }: MessageRow): Link {
  return { type: 'message', at: createdAt, id, direction, body, status, error: toPublicError(error) }
}

export function deadLetterLink({ id, failedAt: at, type: itemType, attempts, error }: DeadLetter): Link {
  return { type: 'dead_letter', at, id, itemType, attempts, error: { code: error.code, message: error.message } }
}

type StatusChange = { status: string; at: Date; error: MessageRow['error'] }

/** Lists the status changes of a message: as reported by the provider, otherwise from the message's own timestamps. */
export async function statusLinks(scope: Scope, message: MessageRow): Promise<Link[]> {
  const reported = await scope.sql<StatusChange>('statusLinks')`
    select status, provider_at as at, error from message_statuses where tenant_id = ${scope.tenantId} and message_id = ${message.id}`
  const reportedStatuses = new Set(reported.map(({ status }) => status))
  const others = listOwnStatuses(message).filter(({ status }) => !reportedStatuses.has(status))
  return [...others, ...reported]
    .sort((a, b) => a.at.getTime() - b.at.getTime() || ORDER.indexOf(a.status) - ORDER.indexOf(b.status))
    .map(({ status, at, error }) => ({ type: 'status', at, status, error: toPublicError(error) }))
}

const ORDER = ['queued', 'sent', 'delivered', 'read', 'played', 'failed', 'canceled']

function listOwnStatuses({ createdAt, sentAt, deliveredAt, readAt, failedAt, ...message }: MessageRow): StatusChange[] {
  const canceledAt = message.status === 'canceled' ? message.updatedAt : null
  const times = { queued: createdAt, sent: sentAt, delivered: deliveredAt, read: readAt, failed: failedAt }
  return Object.entries({ ...times, canceled: canceledAt }).flatMap(([status, at]) =>
    at ? [{ status, at, error: status === 'failed' ? message.error : null }] : [],
  )
}

function toPublicError(error: { code: string; message: string } | null): { code: string; message: string } | null {
  return error && { code: error.code, message: error.message }
}
