import pg from 'pg'
import { APPLICATION, withClient } from './connection.ts'
import type { DataDirectory } from './data-directory.ts'
import { derivePassword } from './password-file.ts'

/** Creates the application's account and database if they are missing. The caller has the boot lock. */
export async function ensureDatabase(adminUrl: string, database: string, folder: DataDirectory): Promise<void> {
  await withClient(adminUrl, async (client) => {
    const account = pg.escapeIdentifier(APPLICATION)
    const accounts = await client.query('select from pg_roles where rolname = $1', [APPLICATION])
    if (accounts.rowCount === 0) {
      const password = pg.escapeLiteral(derivePassword(APPLICATION, folder))
      await client.query(`create role ${account} login password ${password}`)
    }
    const databases = await client.query('select from pg_database where datname = $1', [database])
    if (databases.rowCount === 0) {
      await client.query(`create database ${pg.escapeIdentifier(database)} owner ${account}`)
    }
  })
}
