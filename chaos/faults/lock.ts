import { withClient } from '../../src/platform/embedded-postgres/connection.ts'
import { type Inject, lastWithLoad, type Lock } from './fault.ts'

/** Locks a table against writes. The lock waits for open transactions first, and new writers wait behind it. */
export const injectLock: Inject<Lock> = async ({ database, load }, { table, durationMs }) => {
  await withClient(database.url, async (client) => {
    await client.query('begin')
    await client.query(`lock table ${table} in share mode`)
    await lastWithLoad(load, durationMs)
    await client.query('commit')
  })
  return {}
}
