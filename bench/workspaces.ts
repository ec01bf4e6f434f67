import pg from 'pg'
import { FOUR_STEP_WORKFLOW } from './four-step-workflow.ts'
import { BenchClient } from './http-client.ts'
import { startServer } from './server-process.ts'

/** A workspace with existing contacts and one published workflow, which answers every message. */
export type BenchWorkspace = { tenantId: string; channelId: string; workflowId: string; number: number }

/** Creates workspaces through the API, and their contacts with SQL. */
export async function createWorkspaces(
  environment: Record<string, string>,
  { count, contacts }: { count: number; contacts: number },
): Promise<BenchWorkspace[]> {
  const parley = await startServer('./parley-server.ts', { ...environment, ROLES: 'http' })
  const database = new pg.Client({ connectionString: environment['DATABASE_URL'] })
  await database.connect()
  const workspaces: BenchWorkspace[] = []
  for (let number = 0; number < count; number += 1) {
    const client = new BenchClient(parley.url, 1)
    await client.signUp()
    const { id } = await client.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEP_WORKFLOW })
    await client.post(`/api/workflows/${id}/publish`, {})
    const { rows } = await database.query<{ id: string }>(
      `select id from channels where tenant_id = $1 and kind = 'sandbox'`,
      [client.tenantId],
    )
    const workspace = { tenantId: client.tenantId, channelId: rows[0]?.id ?? '', workflowId: id, number }
    await insertContacts(database, workspace, contacts)
    workspaces.push(workspace)
  }
  await database.query('vacuum analyze contacts, conversations, contact_identities')
  await database.end()
  await parley.stop()
  return workspaces
}

/** Builds the phone number of a contact from the numbers of its workspace and of the contact. */
export function toPhone(workspace: number, contact: number): string {
  return `+49151${String(workspace).padStart(3, '0')}${String(contact).padStart(6, '0')}`
}

async function insertContacts(database: pg.Client, { tenantId, channelId, number }: BenchWorkspace, count: number) {
  const phones = Array.from({ length: count }, (_, contact) => toPhone(number, contact))
  await database.query(
    `with new_contacts as (
       insert into contacts (tenant_id, id, name, phone, country, source, created_at, updated_at)
       select $1, gen_random_uuid(), 'Contact ' || phone, phone, 'DE', 'inbound', now(), now() from unnest($3::text[]) phone
       returning id, phone),
     new_identities as (
       insert into contact_identities (tenant_id, id, contact_id, channel_id, kind, value, created_at)
       select $1, gen_random_uuid(), id, $2, 'phone', phone, now() from new_contacts)
     insert into conversations (tenant_id, id, contact_id, channel_id, status, created_at, updated_at)
     select $1, gen_random_uuid(), id, $2, 'active', now(), now() from new_contacts`,
    [tenantId, channelId, phones],
  )
}
