import type { TestApp } from './app.ts'
import { countLockWaits } from './lock-waits.ts'
import { startParleyProcess } from './parley-process.ts'
import { waitUntil } from './wait-until.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/**
 * Makes a call to a process that is killed while a lock keeps it waiting. Returns the function that repeats the call with
 * its idempotency key.
 */
export async function killDuringCall(
  app: TestApp,
  { cookie, tenantId }: WorkspaceClient,
  { path, body, lock, values = [] }: { path: string; body: object; lock: string; values?: string[] },
): Promise<() => Promise<Response>> {
  const process = await startParleyProcess({ DATABASE_URL: app.databaseUrl, ROLES: 'http' })
  const blocking = await app.system.db.transaction()
  await blocking.raw(lock, values)
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie, 'x-tenant-id': tenantId, 'idempotency-key': 'killed' },
    body: JSON.stringify(body),
  }
  const answer = fetch(`${process.url}${path}`, request).catch(() => undefined)
  await waitUntil(async () => (await countLockWaits(app)) > 0)
  await process.kill()
  await answer
  await blocking.rollback()
  // The server notices that its client has gone when it answers, and keeps the idempotency key until then.
  await waitUntil(async () => (await countTransactions(app)) === 0)
  return () => fetch(`${app.url}${path}`, request)
}

/** Counts the sessions of other connections that are in a transaction. */
async function countTransactions(app: TestApp): Promise<number> {
  const { rows } = await app.system.db.raw<{ rows: [{ count: number }] }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and xact_start is not null`,
  )
  return rows[0].count
}
