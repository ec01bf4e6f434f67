import { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { toCsvLine } from '../../../platform/csv/write-csv.ts'
import { InvalidError } from '../../../platform/errors.ts'
import { NIL_ID } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope/scope.ts'
import { recipientStatus } from '../schema.ts'

const PAGE = 1000

const COLUMNS = [
  'recipientId',
  'contactId',
  'name',
  'address',
  'status',
  'skipReason',
  'errorCode',
  'errorMessage',
  'attempt',
  'messageId',
  'providerMessageId',
  'dueAt',
  'sentAt',
  'deliveredAt',
  'readAt',
  'failedAt',
  'repliedAt',
  'optedOutAt',
] as const

type Row = Record<(typeof COLUMNS)[number], string | number | Date | null>

/**
 * Returns the recipients of a broadcast as lines of CSV, in the order of their IDs. They are read page by page, as fast as
 * the client takes them.
 * @throws NotFoundError, InvalidError
 */
export async function exportRecipients(
  scope: Scope,
  { broadcastId, status }: { broadcastId: string; status: string | null },
): Promise<AsyncGenerator<string>> {
  const parsed = status === null ? null : recipientStatus.safeParse(status)
  if (parsed && !parsed.success) throw new InvalidError(`status must be one of ${recipientStatus.options.join(', ')}`)
  await scope.get(BroadcastRow, broadcastId)
  return toLines(scope, broadcastId, parsed?.data ?? null)
}

async function* toLines(scope: Scope, broadcastId: string, status: string | null): AsyncGenerator<string> {
  yield toCsvLine(COLUMNS)
  let after: string = NIL_ID
  for (let count = PAGE; count === PAGE;) {
    const rows = await readPage(scope, { broadcastId, status, after })
    count = rows.length
    after = String(rows.at(-1)?.recipientId ?? after)
    if (count > 0) yield rows.map((row) => toCsvLine(COLUMNS.map((column) => row[column]))).join('')
  }
}

function readPage(
  scope: Scope,
  { broadcastId, status, after }: { broadcastId: string; status: string | null; after: string },
): Promise<Row[]> {
  return scope.sql<Row>('exportRecipients')`
    select r.id as recipient_id, r.contact_id, c.name, coalesce(r.sent_to, r.address) as address, r.status, r.skip_reason,
       r.error ->> 'code' as error_code, r.error ->> 'message' as error_message, r.attempt, r.message_id,
       r.provider_message_id, r.due_at, r.sent_at, r.delivered_at, r.read_at, r.failed_at, r.replied_at,
       r.opted_out_at
     from broadcast_recipients r left join contacts c on c.tenant_id = ${scope.tenantId} and c.id = r.contact_id
     where r.tenant_id = ${scope.tenantId} and r.broadcast_id = ${broadcastId} and r.id > ${after}
       and (${status}::text is null or r.status = ${status})
     order by r.id limit ${PAGE}`
}
