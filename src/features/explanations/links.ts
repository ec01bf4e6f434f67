import type { Message as MessageRow } from '../../models/messaging/message.ts'
import type { Run as RunRow } from '../../models/automation/run.ts'
import type { RunStep as StepRow } from '../../models/automation/run-step.ts'
import type { Scope } from '../../scope.ts'
import { loadVersions } from '../automation/published-workflows.ts'
import { describeTrigger } from './describe-trigger.ts'
import type { Link } from './schema.ts'

export type NamedRun = RunRow & { workflowName: string }

type Relation = Extract<Link, { kind: 'run' }>['relation']

export function runLink(run: NamedRun, relation: Relation): Link {
  const { id, workflowId, workflowName, workflowVersion: version, status, replayOf, parentRunId } = run
  const at = run.startedAt ?? run.createdAt
  return { kind: 'run', at, id, workflowId, workflowName, version, status, relation, parentRunId, replayOf }
}

type StepBefore = Pick<StepRow, 'index' | 'stepId' | 'type' | 'branch'>

export function stepLink(step: StepRow, before: StepBefore | undefined): Link {
  const { id, index, stepId, name, type, status, branch, startedAt: at } = step
  const after = before ? { index: before.index, stepId: before.stepId, type: before.type, branch: before.branch } : null
  return { kind: 'step', at, id, index, stepId, name, type, status, branch, after }
}

export function eventLink(run: NamedRun, message: MessageRow | undefined): Link {
  const { triggerEventId: id, trigger, createdAt: at, startedBy } = run
  const started = { type: startedBy.type, id: startedBy.id }
  const shown = message ? { id: message.id, body: message.body } : null
  return { kind: 'event', at, id, type: trigger.type, message: shown, startedBy: started }
}

export async function triggerLink(scope: Scope, run: NamedRun, message: MessageRow | undefined): Promise<Link> {
  const { workflowId, workflowVersion: version, trigger } = run
  const compiled = (await loadVersions(scope, [{ workflowId, version }])).get(`${workflowId}:${version}`)
  const sentence = describeTrigger({ trigger, body: message?.body ?? null, compiled })
  return { kind: 'trigger', type: trigger.type, message: sentence }
}

export function messageLink({ id, direction, body, status, error, createdAt }: MessageRow): Link {
  return { kind: 'message', at: createdAt, id, direction, body, status, error: failureOf(error) }
}

type Told = { status: string; at: Date; error: MessageRow['error'] }

/** When a message came to which status: as the provider told it, else as we noted it. */
export async function statusLinks(scope: Scope, message: MessageRow): Promise<Link[]> {
  const { rows } = await scope.db.raw<{ rows: Told[] }>(
    `select status, provider_at as at, error from message_statuses where tenant_id = ? and message_id = ?`,
    [scope.tenantId, message.id],
  )
  const told = new Set(rows.map(({ status }) => status))
  const noted = notedStatuses(message).filter(({ status }) => !told.has(status))
  return [...noted, ...rows]
    .sort((a, b) => a.at.getTime() - b.at.getTime() || ORDER.indexOf(a.status) - ORDER.indexOf(b.status))
    .map(({ status, at, error }) => ({ kind: 'status', at, status, error: failureOf(error) }))
}

const ORDER = ['queued', 'sent', 'delivered', 'read', 'played', 'failed', 'canceled']

function notedStatuses({ createdAt, sentAt, deliveredAt, readAt, failedAt, ...message }: MessageRow): Told[] {
  const canceledAt = message.status === 'canceled' ? message.updatedAt : null
  const noted = { queued: createdAt, sent: sentAt, delivered: deliveredAt, read: readAt, failed: failedAt }
  return Object.entries({ ...noted, canceled: canceledAt }).flatMap(([status, at]) =>
    at ? [{ status, at, error: status === 'failed' ? message.error : null }] : [],
  )
}

function failureOf(error: { code: string; message: string } | null): { code: string; message: string } | null {
  return error && { code: error.code, message: error.message }
}
