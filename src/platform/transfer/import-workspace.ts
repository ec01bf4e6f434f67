import pg from 'pg'
import { Passwords } from '../security/passwords.ts'
import { newToken } from '../security/tokens.ts'
import { columnList, columnNames, type Table } from './export-database.ts'
import { TransferError } from './export-format.ts'

export type ImportedWorkspace = { id: string; members: number; skipped: number }

/**
 * Tables that the rows of an export are read into first. The file may come from anybody, so only rows of its workspace
 * reach the tables of the database.
 */
export type Stage = {
  /** Creates the table for the rows of a table of the export, and returns its name. */
  open(table: Table): Promise<string>
  /** Moves the rows on. */
  take(table: Table): Promise<void>
}

/** Accounts and members, which this installation may have, are added when all are read. */
const ACCOUNT_TABLES = ['users', 'memberships']

/**
 * Adds a workspace beside those of the database, with its IDs. `read` reads the rows of the export.
 * @throws TransferError if the database has or had the workspace, the export has rows of another one, or no account becomes
 * its owner
 */
export async function importWorkspace(
  client: pg.Client,
  workspaceId: string,
  read: (stage: Stage) => Promise<number>,
): Promise<{ rows: number; workspace: ImportedWorkspace }> {
  await assertUnknown(client, workspaceId)
  for (const table of ACCOUNT_TABLES) await openStaged(client, table)
  const rows = await read({
    open: ({ name }) => openStaged(client, name),
    take: async (table) => {
      if (table.name !== 'users') await assertOfWorkspace(client, table)
      if (!ACCOUNT_TABLES.includes(table.name)) await moveRows(client, table)
    },
  })
  await addAccounts(client)
  return { rows, workspace: { id: workspaceId, ...(await addMembers(client)) } }
}

async function openStaged(client: pg.Client, table: string): Promise<string> {
  const staged = toStaged(table)
  await client.query(
    `create temporary table if not exists ${staged} (like ${pg.escapeIdentifier(table)}) on commit drop`,
  )
  return staged
}

function toStaged(table: string): string {
  return `imported_${table}`
}

async function assertOfWorkspace(client: pg.Client, { name, condition }: Table): Promise<void> {
  const { rows } = await client.query(`select from ${toStaged(name)} where (${condition}) is not true limit 1`)
  if (rows.length > 0) throw new TransferError(`The export is forged: ${name} has rows of another workspace`)
}

async function moveRows(client: pg.Client, { name, columns }: Table): Promise<void> {
  await client.query(
    `insert into ${columnList({ name, columns })} select ${columnNames(columns)} from ${toStaged(name)}`,
  )
  await client.query(`drop table ${toStaged(name)}`)
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

/**
 * Adds the accounts of members that are new here, with an address that is not verified and a password that nobody knows: who
 * can read its mail resets it, which verifies the address.
 */
async function addAccounts(client: pg.Client): Promise<void> {
  await client.query('update imported_users set email_verified = false')
  const { rows } = await client.query<{ id: string }>(
    `insert into users select * from imported_users i
     where i.id in (select user_id from imported_memberships)
       and not exists (select from users u where u.id = i.id or u.email = i.email) returning id`,
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
