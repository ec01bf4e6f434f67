import pg from 'pg'
import { BenchCaller } from './http-client.ts'
import { FOUR_STEPS } from './four-step-workflow.ts'
import { startServer } from './server-process.ts'

/** A workspace whose every message is answered by one published workflow, with people who have written before. */
export type BenchWorkspace = { tenantId: string; channelId: string; workflowId: string; number: number }

/** Makes workspaces as people would, and fills them by SQL. */
export async function makeWorkspaces(
  environment: Record<string, string>,
  { count, people }: { count: number; people: number },
): Promise<BenchWorkspace[]> {
  const parley = await startServer('./parley-server.ts', { ...environment, ROLES: 'http' })
  const database = new pg.Client({ connectionString: environment['DATABASE_URL'] })
  await database.connect()
  const workspaces: BenchWorkspace[] = []
  for (let number = 0; number < count; number += 1) {
    const caller = new BenchCaller(parley.url, 1)
    await caller.signUp()
    const { id } = await caller.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEPS })
    await caller.post(`/api/workflows/${id}/publish`, {})
    const { rows } = await database.query<{ id: string }>(
      `select id from channels where tenant_id = $1 and kind = 'sandbox'`,
      [caller.tenantId],
    )
    const workspace = { tenantId: caller.tenantId, channelId: rows[0]?.id ?? '', workflowId: id, number }
    await insertPeople(database, workspace, people)
    workspaces.push(workspace)
  }
  await database.query('vacuum analyze contacts, conversations, contact_identities')
  await database.end()
  await parley.stop()
  return workspaces
}

export function phoneOf(number: number, person: number): string {
  return `+49151${String(number).padStart(3, '0')}${String(person).padStart(6, '0')}`
}

async function insertPeople(database: pg.Client, { tenantId, channelId, number }: BenchWorkspace, people: number) {
  const phones = Array.from({ length: people }, (_, person) => phoneOf(number, person))
  await database.query(
    `with people as (
       insert into contacts (tenant_id, id, name, phone, country, source, created_at, updated_at)
       select $1, gen_random_uuid(), 'Contact ' || phone, phone, 'DE', 'inbound', now(), now() from unnest($3::text[]) phone
       returning id, phone),
     known as (
       insert into contact_identities (tenant_id, id, contact_id, channel_id, kind, value, created_at)
       select $1, gen_random_uuid(), id, $2, 'phone', phone, now() from people)
     insert into conversations (tenant_id, id, contact_id, channel_id, status, created_at, updated_at)
     select $1, gen_random_uuid(), id, $2, 'active', now(), now() from people`,
    [tenantId, channelId, phones],
  )
}
