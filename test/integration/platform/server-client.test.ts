import { expect } from 'chai'
import { closeDatabase, openDatabase } from '../../../src/platform/database/database.ts'
import { ServerClient } from '../../../src/platform/database/servers/server-client.ts'
import { cloneDatabase } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('connection to a database', () => {
  it('that the server ends while nobody listens to it fails its next statement, not the process', async () => {
    const database = await cloneDatabase(() => Promise.resolve())
    const client = new ServerClient({ connectionString: database.url })
    await client.connect()
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const db = openDatabase(database.url)
    await db.raw('select pg_terminate_backend(?)', [rows[0]?.pid ?? 0])
    const query = () =>
      client.query('select 1').then(
        () => undefined,
        (error: Error) => error.message,
      )
    await waitUntil(async () => (await query()) !== undefined)
    expect(await query()).to.match(/connection|terminat|ECONNRESET/i)
    await client.end()
    await closeDatabase(db)
    await database.drop()
  })
})
