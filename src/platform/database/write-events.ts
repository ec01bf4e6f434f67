import { newId } from '../ids.ts'
import { createSqlTag } from './sql.ts'
import type { Database } from './database.ts'

type Origin = { tenantId: string; now: Date }
type EventRow = { type: string; data: Readonly<Record<string, string | readonly string[] | null | undefined>> }

/** Stores events in one statement. */
export async function writeEvents(db: Database, { tenantId, now }: Origin, events: readonly EventRow[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ type, data }) => ({ id: newId(), type, data }))
  await createSqlTag(db, 'writeEvents')`
    insert into events (tenant_id, id, type, data, created_at)
    select ${tenantId}::uuid, id, type, data, ${now}::timestamptz
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as x (id uuid, type text, data jsonb)`
}
