import { expect } from 'chai'
import { GraphileJobQueue } from '../../../src/platform/jobs/graphile-job-queue.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { waitUntil } from '../../support/wait-until.ts'

const JOB = { task: 'count', key: 'count:one', payload: { of: 'one' } }

describe('GraphileJobQueue', () => {
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

  it('executes a job whose worker died once and removes it', async () => {
    const { db } = app.system
    await queue.enqueue(db, [JOB])
    await db.raw(
      `update graphile_worker._private_jobs set locked_by = 'dead', locked_at = now() - interval '1 minute', attempts = 1`,
    )
    await queue.enqueue(db, [JOB])
    let executions = 0
    await queue.start({
      count: async () => {
        executions += 1
      },
    })
    const countJobs = async () => {
      const { rows } = await db.raw<{ rows: { n: number }[] }>('select count(*)::int as n from graphile_worker.jobs')
      return rows[0]?.n
    }
    await waitUntil(async () => (await countJobs()) === 0)
    expect(executions).to.equal(1)
  })

  it('keeps executing jobs when the database fails to delete a finished job', async () => {
    const { db } = app.system
    await db.raw(`create function refuse() returns trigger language plpgsql as $$ begin raise 'away'; end $$;
      create trigger refuse before delete on graphile_worker._private_jobs execute function refuse()`)
    let executions = 0
    await queue.start({
      count: async () => {
        executions += 1
      },
    })
    await queue.enqueue(db, [JOB])
    await waitUntil(() => executions === 1)
    await waitUntil(async () => {
      await queue.enqueue(db, [JOB])
      return executions > 2
    })
    await db.raw('drop function refuse cascade')
  })
})
