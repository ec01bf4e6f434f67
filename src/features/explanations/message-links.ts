import type { Message as MessageRow } from '../../models/messaging/message.ts'
import type { Scope } from '../../scope.ts'
import type { Link } from './schema.ts'

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
