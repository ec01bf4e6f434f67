import { newId } from '../ids.ts'
import { createSqlTag } from './sql.ts'
import type { Database } from './database.ts'

type Origin = { tenantId: string; now: Date }
type EventRow = { type: string; data: Record<string, string | null> }

/**
 * Sends the statement that stores the events of a transaction, so that the commit follows it without waiting for the
 * response. If the statement fails, the server rolls back instead of committing, and `stored` rejects.
 */
export async function sendEvents(
  db: Database,
  origin: Origin,
  events: readonly EventRow[],
): Promise<{ stored: Promise<void> }> {
  if (events.length === 0) return { stored: Promise.resolve() }
  const sent = new Promise((resolve) => db.once('query', resolve))
  const stored = writeEvents(db, origin, events)
  await Promise.race([sent, stored])
  return { stored }
}

/** Stores events in one statement. */
export async function writeEvents(db: Database, { tenantId, now }: Origin, events: readonly EventRow[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ type, data }) => ({ id: newId(), type, data }))
  await createSqlTag(db, 'writeEvents')`
    insert into events (tenant_id, id, type, data, created_at)
    select ${tenantId}::uuid, id, type, data, ${now}::timestamptz
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as x (id uuid, type text, data jsonb)`
}
