import pg from 'pg'
import { SECOND } from '../../time.ts'
import type { DataDirectory } from './data-directory.ts'
import { derivePassword } from './password-file.ts'

export const ADMINISTRATOR = 'postgres'
/** The account that owns only the application's database, so that SQL injection cannot reach files or other databases. */
export const APPLICATION = 'parley'

export function connectionString(account: string, database: string, port: number, folder: DataDirectory): string {
  return `postgres://${account}:${derivePassword(account, folder)}@127.0.0.1:${port}/${encodeURIComponent(database)}`
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 15 * SECOND })
  // Without a listener, a server that stops would end this process.
  client.on('error', () => {})
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}
