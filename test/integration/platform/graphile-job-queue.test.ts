import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import { GraphileJobQueue } from '../../../src/platform/jobs/graphile-job-queue.ts'
import type { Job } from '../../../src/platform/jobs/job-queue.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { waitUntil } from '../../support/wait-until.ts'

const JOB = { task: 'count', tenantId: 'all', key: 'one' }

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

  async function countJobs(): Promise<number | undefined> {
    const { rows } = await app.system.db.raw<{ rows: { n: number }[] }>(
      'select count(*)::int as n from graphile_worker.jobs',
    )
    return rows[0]?.n
  }

  it('executes a job whose worker died once and removes it', async () => {
    const { db } = app.system
    queue.enqueue([JOB])
    await queue.flush()
    await db.raw(
      `update graphile_worker._private_jobs set locked_by = 'dead', locked_at = now() - interval '1 minute', attempts = 1`,
    )
    queue.enqueue([JOB])
    await queue.flush()
    let executions = 0
    await queue.start({
      count: async () => {
        executions += 1
      },
    })
    await waitUntil(async () => (await countJobs()) === 0)
    expect(executions).to.equal(1)
  })

  it('lets jobs of another version fall away, which have no key', async () => {
    const { db } = app.system
    const executed: Job[] = []
    await db.raw(`select graphile_worker.add_job('count', '{"tenantId": "all", "channelId": "one"}') is null`)
    queue.enqueue([JOB])
    await queue.flush()
    await queue.start({ count: async (job) => void executed.push(job) })
    await waitUntil(async () => (await countJobs()) === 0)
    expect(executed).to.deep.equal([JOB])
  })

  it('tells the jobs in progress that it stops and waits for them', async () => {
    let isStarted = false
    let isFinished = false
    await queue.start({
      async count(_, control) {
        isStarted = true
        await waitUntil(() => control?.signal?.aborted === true)
        isFinished = true
      },
    })
    queue.enqueue([JOB])
    await queue.flush()
    await waitUntil(() => isStarted)
    await queue.stop()
    expect(isFinished).to.equal(true)
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
    queue.enqueue([JOB])
    await queue.flush()
    await waitUntil(() => executions === 1)
    await waitUntil(async () => {
      queue.enqueue([JOB])
      await queue.flush()
      return executions > 2
    })
    await db.raw('drop function refuse cascade')
  })

  it('keeps executing jobs when a finished job cannot be deleted while another job is in progress', async () => {
    const { db } = app.system
    // A rollback does not reset a sequence, so it counts the failed deletions.
    await db.raw(`create sequence refusals;
      create function refuse() returns trigger language plpgsql as $$
        begin perform nextval('refusals'); raise 'away'; end $$;
      create trigger refuse before delete on graphile_worker._private_jobs
        for each row when (old.key = 'work:failing') execute function refuse()`)
    const countRefusals = async () => {
      const { rows } = await db.raw<{ rows: { n: number }[] }>(
        'select count(*)::int as n from refusals where is_called',
      )
      return rows[0]?.n
    }
    const listKeys = async () => {
      const { rows } = await db.raw<{ rows: { key: string }[] }>('select key from graphile_worker.jobs')
      return rows.map(({ key }) => key)
    }
    const slow = ['slow:1', 'slow:2', 'slow:3']
    const finished = new Set<string>()
    const finish = new EventEmitter()
    const executed: string[] = []
    await queue.start({
      async work({ key: name }) {
        executed.push(name)
        if (slow.includes(name) && !finished.has(name)) await once(finish, name)
      },
    })
    const enqueue = (name: string) => queue.enqueue([{ task: 'work', tenantId: 'all', key: name }])
    for (const name of slow) enqueue(name)
    await waitUntil(() => slow.every((name) => executed.includes(name)))
    enqueue('failing')
    await waitUntil(async () => (await countRefusals()) === 1)
    await db.raw('drop function refuse cascade')
    for (const name of slow) {
      finished.add(name)
      finish.emit(name)
      await waitUntil(async () => !(await listKeys()).includes(`work:${name}`))
    }
    enqueue('later')
    await waitUntil(() => executed.includes('later'), 30_000)
  })

  describe('on connections that fail whenever they ask for jobs', () => {
    const release = new EventEmitter()
    let faulty: GraphileJobQueue

    beforeEach(async () => {
      const url = new URL(app.databaseUrl)
      url.searchParams.set('application_name', 'faulty')
      faulty = new GraphileJobQueue({ url: url.href, log: createLogger('silent'), heartbeatMs: 1000 })
      // A trigger per statement fires although no job is due.
      await app.system.db.raw(`create function refuse() returns trigger language plpgsql as $$
        begin
          if current_setting('application_name') = 'faulty' and exists (select from faults) then raise 'away'; end if;
          return null;
        end $$;
        create table faults ();
        create trigger refuse before update on graphile_worker._private_jobs execute function refuse()`)
    })

    afterEach(async () => {
      release.emit('all')
      await faulty.stop()
      await app.system.db.raw('drop function refuse cascade; drop table faults')
    })

    const makeFaulty = () => app.system.db.raw('insert into faults default values')

    it('stops the heartbeat, and another worker executes the job in progress', async () => {
      const { db } = app.system
      const started: string[] = []
      await faulty.start({
        async count() {
          started.push('faulty')
          await once(release, 'all')
        },
      })
      queue.enqueue([JOB])
      await queue.flush()
      await waitUntil(() => started.includes('faulty'))
      const [faultyId] = await db('graphile_worker.jobs').pluck('locked_by')
      await makeFaulty()
      await queue.start({
        async count() {
          started.push('healthy')
        },
      })
      await waitUntil(() => started.includes('healthy'))
      // A worker that works writes its row at its second heartbeat at the latest.
      const listIds = () => db('workers').whereRaw(`seen_at > now() - interval '5 seconds'`).pluck('id')
      await waitUntil(async () => (await listIds()).length === 1, 15_000)
      expect(await listIds())
        .to.have.length(1)
        .and.not.include(faultyId)
    })

    it('is reported as stuck, and no longer when the connections work again', async () => {
      let reports = 0
      await faulty.start({ count: () => Promise.resolve() }, () => (reports += 1))
      expect(faulty.isStuck).to.equal(false)
      await makeFaulty()
      await waitUntil(() => reports === 1)
      expect(faulty.isStuck).to.equal(true)
      await app.system.db.raw('truncate faults')
      await waitUntil(() => !faulty.isStuck)
    })
  })

  it('leaves no unhandled rejection when its connections are lost while jobs wait in the process, and executes them later', async () => {
    const { db } = app.system
    const proxy = await TcpProxy.start(app.databaseUrl)
    const url = proxy.through(app.databaseUrl)
    const cut = new GraphileJobQueue({ url, log: createLogger('silent'), heartbeatMs: 1000 })
    const rejections: unknown[] = []
    const listeners = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', (reason) => rejections.push(reason))
    const executed = new Set<string>()
    const release = new EventEmitter()
    try {
      await cut.start({
        async hold({ key: name }) {
          if (executed.size === 0) await once(release, 'all')
          executed.add(name)
        },
      })
      const names = Array.from({ length: 24 }, (_, index) => `hold ${index}`)
      queue.enqueue(names.map((name) => ({ task: 'hold', tenantId: 'all', key: name })))
      await waitUntil(async () => (await db('graphile_worker.jobs').whereNotNull('locked_at')).length > 8)
      await proxy.refuse()
      release.emit('all')
      await waitUntil(() => executed.size >= 8)
      await proxy.accept()
      await waitUntil(() => executed.size === names.length, 30_000)
      expect(rejections).to.deep.equal([])
    } finally {
      await cut.stop()
      proxy.stop()
      process.removeAllListeners('unhandledRejection')
      for (const listener of listeners) process.on('unhandledRejection', listener)
    }
  })

  it('executes a job that it has locked without receiving the answer', async () => {
    const { db } = app.system
    const healthy = new GraphileJobQueue({ url: app.databaseUrl, log: createLogger('silent'), heartbeatMs: 1000 })
    let executions = 0
    try {
      await healthy.start({
        async recover() {
          executions += 1
        },
      })
      const findWorker = () => db('workers').first<{ id: string } | undefined>('id')
      await waitUntil(async () => (await findWorker()) !== undefined)
      const worker = await findWorker()
      await db.raw(
        `select graphile_worker.add_job('recover', '{"tenantId": "all", "key": "one"}', run_at := now() + interval '1 hour') is null`,
      )
      // It becomes due in the same statement, so that the worker cannot lock it itself.
      await db.raw(
        'update graphile_worker._private_jobs set locked_by = ?, locked_at = now(), run_at = now() where run_at > now()',
        [worker?.id ?? ''],
      )
      await waitUntil(() => executions === 1)
    } finally {
      await healthy.stop()
    }
  })
})
