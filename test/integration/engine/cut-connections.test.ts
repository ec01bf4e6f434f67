import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const WRITERS = 4
const CUTS_OF_ALL = 6
const CUTS_OF_ONE = 40

describe('a worker whose database connections are cut again and again', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let worker: ParleyProcess

  before(async () => {
    app = await startTestApp({ ROLES: 'http' }, systemClock)
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, {
      settings: { reentry: 'parallel' },
      steps: [{ id: 'answer', type: 'send_message', message: { body: 'Got {{message.body}}' } }],
    })
    worker = await startParleyProcess({ DATABASE_URL: app.databaseUrl, ROLES: 'worker' })
  })

  after(async () => {
    await worker.kill()
    await app.stop()
  })

  /** Cuts connections of the worker, not those over which this test writes. */
  async function cut(limit: number | null): Promise<void> {
    await app.system.db.raw(
      `select pg_terminate_backend(pid) from (
         select pid from pg_stat_activity where datname = current_database() and application_name = 'parley jobs'
         order by random() limit ?) victims`,
      [limit],
    )
  }

  it('goes on and answers every message once, without a restart of the process', async () => {
    let isWriting = true
    const acknowledged: string[] = []
    const writing = Array.from({ length: WRITERS }, async (_, writer) => {
      for (let n = 0; isWriting; n += 1) {
        const body = `${writer}-${n}`
        await sendAsCustomer(workspace, { phone: `+4915100${writer}${String(n % 10).padStart(4, '0')}`, body })
        acknowledged.push(`Got ${body}`)
      }
    })
    for (let n = 0; n < CUTS_OF_ALL; n += 1) {
      await delay(500)
      await cut(null)
    }
    for (let n = 0; n < CUTS_OF_ONE; n += 1) {
      await delay(100)
      await cut(1)
    }
    isWriting = false
    await Promise.all(writing)
    const listAnswers = () =>
      app.system
        .db('messages')
        .where({ direction: 'outbound', status: 'delivered' })
        .orderBy('id')
        .pluck<string[]>('body')
    await waitUntil(async () => (await listAnswers()).length >= acknowledged.length, 60_000)
    expect((await listAnswers()).sort()).to.deep.equal(acknowledged.sort())
  })
})
