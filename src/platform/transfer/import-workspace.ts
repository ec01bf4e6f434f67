import type pg from 'pg'
import { Passwords } from '../security/passwords.ts'
import { newToken } from '../security/tokens.ts'
import { TransferError } from './export-format.ts'

export type ImportedWorkspace = { id: string; members: number; skipped: number }

/** Tables of accounts, whose rows this installation may have, and where those of the export are read into. */
const STAGED = new Map([
  ['users', 'imported_users'],
  ['memberships', 'imported_memberships'],
])

/**
 * Adds a workspace beside those of the database, with its IDs. `read` reads the rows of the export.
 * @throws TransferError if the database has or had the workspace, or no account becomes its owner
 */
export async function importWorkspace(
  client: pg.Client,
  workspaceId: string,
  read: (staged: ReadonlyMap<string, string>) => Promise<number>,
): Promise<{ rows: number; workspace: ImportedWorkspace }> {
  await assertUnknown(client, workspaceId)
  for (const [table, staged] of STAGED)
    await client.query(`create temporary table ${staged} (like ${table}) on commit drop`)
  const rows = await read(STAGED)
  await addAccounts(client)
  return { rows, workspace: { id: workspaceId, ...(await addMembers(client)) } }
}

async function assertUnknown(client: pg.Client, workspaceId: string): Promise<void> {
  const existing = await client.query('select from workspaces where id = $1', [workspaceId])
  if (existing.rows.length > 0) throw new TransferError(`The database has the workspace ${workspaceId} already`)
  const deleted = await client.query('select from workspace_deletions where workspace_id = $1', [workspaceId])
  if (deleted.rows.length > 0)
    throw new TransferError(
      `The workspace ${workspaceId} was deleted here. Remove its receipt from workspace_deletions to import it again`,
    )
}

/** Adds the accounts that are new here, with a password that nobody knows: their owners reset it. */
async function addAccounts(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    `insert into users select * from imported_users i
     where not exists (select from users u where u.id = i.id or u.email = i.email) returning id`,
  )
  await client.query(
    `insert into credentials (user_id, password_hash, updated_at) select id, $2, now() from unnest($1::uuid[]) as x (id)`,
    [rows.map(({ id }) => id), await new Passwords().hash(newToken())],
  )
}

/**
 * Makes the accounts of the exported addresses members. An account that was here before under another ID may be that of
 * another person, unless its address was verified.
 */
async function addMembers(client: pg.Client): Promise<Omit<ImportedWorkspace, 'id'>> {
  const added = await client.query<{ role: string }>(
    `insert into memberships (workspace_id, user_id, role, last_assigned_at, created_at)
     select m.workspace_id, u.id, m.role, m.last_assigned_at, m.created_at
     from imported_memberships m join imported_users i on i.id = m.user_id
     join users u on u.email = i.email and (u.id = i.id or u.email_verified)
     returning role`,
  )
  if (!added.rows.some(({ role }) => role === 'owner'))
    throw new TransferError(
      'The address of no owner is that of a verified account here. Let an owner verify the address, then import again',
    )
  const { rows } = await client.query<{ n: number }>('select count(*)::int as n from imported_memberships')
  return { members: added.rows.length, skipped: (rows[0]?.n ?? 0) - added.rows.length }
}
