import { createHash } from 'node:crypto'
import { digestSql } from '../audience/snapshot-recipients.ts'
import { addsUp, NO_COUNTS } from '../counts.ts'
import type { BroadcastReport, Counts } from '../schema.ts'
import { getReport, type ReportSource } from './get-report.ts'
import { NIL_ID } from '../../../platform/ids.ts'
import { sqlText } from '../../../platform/database/statements/statement.ts'

const PAGE = 2000
type Row = {
  id: string
  status: Exclude<keyof Counts, 'total' | 'accepted' | 'replied' | 'optedOut'>
  hasReplied: boolean
  hasOptedOut: boolean
  hasDoubt: boolean
  digest: Buffer | null
  isDigestValid: boolean
  acceptedCount: number
  /** Messages that the provider accepted, by the IDs that it gave them. */
  providerMessageIds: number
}

export type Verification = { report: BroadcastReport; problems: string[] }

/**
 * Computes the report of a broadcast again from its recipients, messages and the provider's IDs, page by page, and lists
 * where it differs. Meant for a broadcast that nothing changes meanwhile.
 */
export async function verifyReport(source: ReportSource, broadcastId: string): Promise<Verification> {
  const report = await getReport(source, { broadcastId })
  const problems: string[] = []
  const counts: Counts = { ...NO_COUNTS }
  const hash = createHash('sha256')
  let doubts = 0
  for (let after: string | undefined = NIL_ID; after !== undefined;) {
    const rows: Row[] = await readPage(source, broadcastId, after)
    for (const row of rows) {
      hash.update(row.digest ?? Buffer.alloc(0))
      counts.total += 1
      counts[row.status] += 1
      counts.accepted += row.acceptedCount > 0 ? 1 : 0
      counts.replied += row.hasReplied ? 1 : 0
      counts.optedOut += row.hasOptedOut ? 1 : 0
      doubts += row.hasDoubt ? 1 : 0
      problems.push(...findProblems(row))
    }
    after = rows.length === PAGE ? rows.at(-1)?.id : undefined
  }
  if (report.snapshot && report.snapshot.hash !== hash.digest('hex')) {
    problems.push('the recipients are not those of the snapshot: its hash differs')
  }
  for (const [name, count] of Object.entries(counts)) {
    const reported = Object.entries(report.counts).find(([other]) => other === name)?.[1]
    if (reported !== count) problems.push(`${name}: the report states ${reported}, the rows ${count}`)
  }
  if (!addsUp(counts)) problems.push('the statuses do not add up to the total')
  if (doubts !== report.doubts.total) {
    problems.push(`doubts: the report states ${report.doubts.total}, the rows ${doubts}`)
  }
  return { report, problems }
}

function findProblems({ id, isDigestValid, acceptedCount, providerMessageIds, status }: Row): string[] {
  return [
    isDigestValid ? [] : `recipient ${id}: its contact, address or parameters have changed`,
    acceptedCount === providerMessageIds
      ? []
      : `recipient ${id}: ${acceptedCount} accepted messages are recorded, the provider's IDs are ${providerMessageIds}`,
    providerMessageIds > 1 ? `recipient ${id}: the provider accepted ${providerMessageIds} messages` : [],
    providerMessageIds === 0 && ['sent', 'delivered', 'read'].includes(status)
      ? `recipient ${id}: it is ${status}, and the provider accepted no message`
      : [],
  ].flat()
}

/** Rows of contacts that were deleted keep their digest; their messages are gone. */
function readPage(source: ReportSource, broadcastId: string, after: string): Promise<Row[]> {
  return source.sql<Row>('verifyRecipients')`
    select r.id, r.status, r.replied_at is not null as has_replied, r.opted_out_at is not null as has_opted_out,
       r.doubted_at is not null as has_doubt, r.digest,
       r.accepted_count,
       c.id is null or r.digest = ${sqlText(digestSql('r'))} as is_digest_valid,
       case when c.id is not null then (
         select count(*)::int from messages m
         join provider_message_ids p on p.tenant_id = ${source.tenantId} and p.message_id = m.id
         where m.tenant_id = ${source.tenantId} and m.recipient_id = r.id) else r.accepted_count end as provider_message_ids
     from broadcast_recipients r left join contacts c on c.tenant_id = ${source.tenantId} and c.id = r.contact_id
     where r.tenant_id = ${source.tenantId} and r.broadcast_id = ${broadcastId} and r.id > ${after} order by r.id limit ${PAGE}`
}
