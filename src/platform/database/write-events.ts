import { newId } from '../ids.ts'
import { createSqlTag } from './sql.ts'
import { insertRowsSql } from './statements/recordset.ts'
import type { Database } from './database.ts'

type Origin = { tenantId: string; now: Date }
type EventRow = {
  type: string
  data: Readonly<Record<string, string | readonly string[] | null | undefined>>
  /** Data that are deleted with the contact of the event. */
  payload?: unknown
}

/** Stores events in one statement, and their payloads, if there are any, in another one, which is sent with it. */
export async function writeEvents(db: Database, { tenantId, now }: Origin, events: readonly EventRow[]): Promise<void> {
  if (events.length === 0) return
  const payloads: { event_id: string; contact_id: unknown; payload: unknown }[] = []
  const rows = events.map(({ type, data, payload = null }) => {
    const id = newId()
    if (payload !== null) payloads.push({ event_id: id, contact_id: data['contactId'], payload })
    return { id, type, data, created_at: now }
  })
  const statements = [
    createSqlTag(db, 'writeEvents')`
      ${insertRowsSql('events', tenantId, rows)}`,
  ]
  if (payloads.length > 0) {
    statements.push(
      createSqlTag(db, 'writePayloads')`
        ${insertRowsSql('event_payloads', tenantId, payloads)}`,
    )
  }
  await Promise.all(statements)
}
