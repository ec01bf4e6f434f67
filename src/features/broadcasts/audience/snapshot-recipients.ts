import { createHash } from 'node:crypto'
import type { SendableTemplate } from '../../../channels/templates/fill-template.ts'
import { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { toRecordset } from '../../../platform/database/sql.ts'
import { sqlText } from '../../../platform/database/statements/statement.ts'
import { newId, NIL_ID } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope/scope.ts'
import { toDueTime } from '../schedule.ts'
import { loadCandidates } from './candidates.ts'
import { decideRecipients, type Decision } from './decide-recipients.ts'
import { listSources, readPortion } from './sources.ts'

/** Size of the parameters that a statement stores. Serializing more would hold up the event loop. */
const INSERTED_BYTES_MAX = 1024 * 1024

const DIGESTS_PER_PAGE = 5000

/**
 * Adds the next portion of the audience to the recipients of a locked broadcast and moves its cursor, in one transaction:
 * after a crash the snapshot continues with the next portion. A recipient is unique by contact and by address, and its
 * parameters are frozen. Returns true if there are more portions.
 */
export async function snapshotPortion(
  tx: Scope,
  broadcast: BroadcastRow,
  template: SendableTemplate,
): Promise<boolean> {
  const sources = listSources(broadcast.audience)
  const { source: index, after } = broadcast.snapshotCursor ?? { source: 0, after: null }
  const source = sources[index]
  if (!source) return false
  const portion = await readPortion(tx, broadcast.id, source, after)
  const ownParams = new Map(portion.contacts.toReversed().map(({ contactId, params }) => [contactId, params]))
  const candidates = await loadCandidates(tx, broadcast, [...ownParams.keys()], { isLocked: true })
  const decisions = await decideRecipients(
    broadcast,
    template,
    candidates.map((candidate) => ({ ...candidate, ownParams: ownParams.get(candidate.contactId) ?? {} })),
  )
  for (const group of groupBySize(decisions)) await insertRecipients(tx, broadcast, group)
  const snapshotCursor = portion.after === null ? { source: index + 1, after: null } : { ...portion, source: index }
  await tx
    .query(BroadcastRow)
    .findOne('id', broadcast.id)
    .patch({ snapshotCursor: { source: snapshotCursor.source, after: snapshotCursor.after } })
  return snapshotCursor.source < sources.length
}

function* groupBySize(decisions: Decision[]): Generator<Decision[]> {
  let group: Decision[] = []
  let size = 0
  for (const decision of decisions) {
    group.push(decision)
    for (const value of Object.values(decision.params)) size += value.length
    if (size < INSERTED_BYTES_MAX) continue
    yield group
    group = []
    size = 0
  }
  yield group
}

/** SQL digest of what the snapshot states of the recipient in the columns of `row`. */
export function digestSql(row: string): string {
  return `sha256(convert_to(${row}.contact_id::text || chr(10) || coalesce(${row}.address, '') || chr(10)
    || ${row}.params::text, 'UTF8'))`
}

/**
 * Returns the SHA-256 of the list of recipients, in hexadecimal: of their digests in the order of their IDs. A digest
 * stays when a contact is deleted, and a retry changes none.
 */
export async function hashSnapshot(scope: Scope, broadcastId: string): Promise<string> {
  const hash = createHash('sha256')
  let after: string = NIL_ID
  for (let count = DIGESTS_PER_PAGE; count === DIGESTS_PER_PAGE;) {
    const [page] = await scope.sql<{ digests: Buffer | null; count: number; lastId: string | null }>('hashSnapshot')`
    select string_agg(digest, '' order by id) as digests, count(*)::int as count,
         (array_agg(id order by id desc))[1] as last_id
       from (
         select id, digest from broadcast_recipients
         where tenant_id = ${scope.tenantId} and broadcast_id = ${broadcastId} and id > ${after} order by id limit ${DIGESTS_PER_PAGE}) page`
    hash.update(page?.digests ?? Buffer.alloc(0))
    count = page?.count ?? 0
    after = page?.lastId ?? after
  }
  return hash.digest('hex')
}

async function insertRecipients(tx: Scope, broadcast: BroadcastRow, decisions: Decision[]): Promise<void> {
  if (decisions.length === 0) return
  const now = tx.now()
  const rows = decisions.map(({ candidate: { contactId, address, timezone }, params, skipReason }) => ({
    id: newId(),
    contactId,
    address,
    timezone,
    params,
    skipReason,
    status: skipReason === null ? 'pending' : 'skipped',
    dueAt: toDueTime(broadcast, timezone, now),
  }))
  await tx.sql('insertRecipients')`
    insert into broadcast_recipients (tenant_id, broadcast_id, id, contact_id, address, timezone, params, skip_reason,
         status, due_at, digest, created_at, updated_at)
       select ${tx.tenantId}::uuid, ${broadcast.id}::uuid, x.id, x.contact_id, x.address, x.timezone, x.params, x.skip_reason,
         x.status, x.due_at, ${sqlText(digestSql('x'))}, ${now}::timestamptz, ${now}::timestamptz
       from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (id uuid, contact_id uuid, address text, timezone text, params jsonb,
         skip_reason text, status text, due_at timestamptz)`
}
