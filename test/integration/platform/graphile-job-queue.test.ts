import { expect } from 'chai'
import { GraphileJobQueue } from '../../../src/platform/jobs/graphile-job-queue.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { waitUntil } from '../../support/wait-until.ts'

const BELL = { task: 'count', key: 'count:one', payload: { of: 'one' } }

describe('the job queue', () => {
  let app: TestApp
  let queue: GraphileJobQueue

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  beforeEach(() => {
    queue = new GraphileJobQueue({ url: app.databaseUrl, log: createLogger('silent') })
  })

  afterEach(() => queue.stop())
  after(() => app.stop())

  it('answers a bell whose worker died, once, and leaves no trace of it', async () => {
    const { db } = app.system
    await queue.enqueue(db, [BELL])
    await db.raw(
      `update graphile_worker._private_jobs set locked_by = 'dead', locked_at = now() - interval '1 minute', attempts = 1`,
    )
    await queue.enqueue(db, [BELL])
    let answered = 0
    await queue.start({
      count: async () => {
        answered += 1
      },
    })
    const jobs = async () => {
      const { rows } = await db.raw<{ rows: { n: number }[] }>('select count(*)::int as n from graphile_worker.jobs')
      return rows[0]?.n
    }
    await waitUntil(async () => (await jobs()) === 0)
    expect(answered).to.equal(1)
  })

  it('works on after the database could not write down that a bell was answered', async () => {
    const { db } = app.system
    await db.raw(`create function refuse() returns trigger language plpgsql as $$ begin raise 'away'; end $$;
      create trigger refuse before delete on graphile_worker._private_jobs execute function refuse()`)
    let answered = 0
    await queue.start({
      count: async () => {
        answered += 1
      },
    })
    await queue.enqueue(db, [BELL])
    await waitUntil(() => answered === 1)
    await waitUntil(async () => {
      await queue.enqueue(db, [BELL])
      return answered > 2
    })
    await db.raw('drop function refuse cascade')
  })
})
