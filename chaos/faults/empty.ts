import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../../src/platform/embedded-postgres/connection.ts'
import { type Empty, type Inject, lastWithLoad } from './fault.ts'

/** Shorter than most jobs wait for a worker that is busy. */
const PAUSE_MS = 5

/** Empties the table of the jobs that wait for a worker, again and again. */
export const injectEmpty: Inject<Empty> = async ({ database, load }, { durationMs }) => {
  await withClient(database.url, async (client) => {
    let isOver = false
    const lasting = lastWithLoad(load, durationMs).finally(() => (isOver = true))
    while (!isOver) {
      await client.query('delete from wakeups')
      await delay(PAUSE_MS)
    }
    await lasting
  })
  return {}
}
