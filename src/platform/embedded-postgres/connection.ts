import { createHmac } from 'node:crypto'
import fs from 'node:fs'
import pg from 'pg'
import { SECOND } from '../time.ts'
import type { DataDirectory } from './data-directory.ts'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'

export const ADMINISTRATOR = 'postgres'
/** The account that owns only the application's database, so that SQL injection cannot reach files or other databases. */
export const APPLICATION = 'parley'

/** Socket paths are limited to about 100 bytes. The default folder, /tmp, is shared with other accounts. */
const SOCKET_FOLDER_BYTES_MAX = 85

/** Folder of the server's Unix socket; undefined if it has none. */
export function socketFolder({ data }: DataDirectory): string | undefined {
  const hasSocket = process.platform !== 'win32' && Buffer.byteLength(data) <= SOCKET_FOLDER_BYTES_MAX
  return hasSocket ? data : undefined
}

export function connectionString(account: string, database: string, port: number, folder: DataDirectory): string {
  return `postgres://${account}:${derivePassword(account, folder)}@127.0.0.1:${port}/${encodeURIComponent(database)}`
}

/** Adds the server's Unix socket, if it has one, to a connection string: a round trip takes half as long as over TCP. */
export function throughSocket(url: string, folder: DataDirectory): string {
  const socket = socketFolder(folder)
  return socket === undefined ? url : `${url}?host=${encodeURIComponent(socket)}`
}

/** Derives the password of an account, so that the application's password does not reveal the administrator's. */
export function derivePassword(account: string, folder: DataDirectory): string {
  return createHmac('sha256', readSecret(folder)).update(account).digest('base64url')
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

function readSecret(folder: DataDirectory): string {
  try {
    return fs.readFileSync(folder.secret, 'utf8').trim()
  } catch (cause) {
    const advice =
      errorCode(cause) === 'ENOENT'
        ? `Restore it, or move ${folder.root} away to start with an empty database.`
        : 'Start Parley as the account that owns it, or set DATA_DIR to another folder.'
    throw new EmbeddedPostgresError(
      `${folder.secret} cannot be read, and without it nothing can connect to the database beside it. ${advice}`,
      { cause },
    )
  }
}
