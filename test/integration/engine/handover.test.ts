import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import type { ProcessCommand, ProcessEvent } from '../../../chaos/app-process-main.ts'
import type { Failpoint } from '../../../chaos/failpoints.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { compiledProgram } from '../../support/compiled-programs.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** The interval of the periodic tasks, the time that a message may be overdue, and some time for a busy machine. */
const FOUND_WITHIN_MS = 9_000

/** Forks a process, by default with both roles, that the test can kill at a failpoint. */
async function forkProcess({ databaseUrl, dataDir }: TestApp, { roles = 'http,worker', failpoint }: ForkOptions = {}) {
  const child = fork(await compiledProgram('chaos/app-process-main.ts'), { execArgv: [] })
  const send = (command: ProcessCommand) => void child.send(command)
  const arm = (point: Failpoint) => send({ kind: 'arm', failpoint: { failpoint: point, skip: 0, action: 'exit' } })
  const environment = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    SECRET_KEY: 'ab'.repeat(32),
    TRUSTED_PROXIES: '127.0.0.1/32,::1/128',
    PORT: '0',
    ROLES: roles,
    LOG_LEVEL: 'silent',
  }
  if (failpoint) arm(failpoint)
  send({ kind: 'start', environment, clockOffsetMs: 0 })
  const exited = once(child, 'exit')
  return {
    child,
    exited,
    arm,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await exited
    },
  }
}

type ForkOptions = { roles?: string; failpoint?: Failpoint }

async function startProcess(app: TestApp, options?: ForkOptions) {
  const forked = await forkProcess(app, options)
  const [event]: ProcessEvent[] = await once(forked.child, 'message')
  if (event?.kind !== 'ready') throw new Error('the process did not start')
  return { ...forked, url: event.url }
}

describe('process that executes the jobs that it enqueues', function () {
  this.timeout(60_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let process: Awaited<ReturnType<typeof startProcess>> | undefined
  let other: Awaited<ReturnType<typeof startProcess>> | undefined

  before(async () => {
    app = await startTestApp({ ROLES: 'http' }, systemClock)
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { settings: { reentry: 'parallel' }, steps: [say('answer', 'Hello')] })
  })

  afterEach(async () => {
    await process?.kill()
    await other?.kill()
  })

  after(() => app.stop())

  async function send(url: string | undefined): Promise<number> {
    const { cookie, tenantId } = workspace
    const response = await fetch(`${url}/api/sandbox/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': newAddress(), cookie, 'x-tenant-id': tenantId },
      body: JSON.stringify({ phone: '+4915100000001', body: 'hi' }),
    })
    return response.status
  }

  async function countMessages(condition: object): Promise<number> {
    const [row] = await app.system.db('messages').where(condition).count<{ count: number }[]>('id')
    return row?.count ?? 0
  }

  const countAnswers = () => countMessages({ direction: 'outbound', status: 'delivered' })

  it('answers without a row in the queue', async () => {
    process = await startProcess(app)
    await app.system.db.raw(`create table queued as select 1 as n where false;
      create function note() returns trigger language plpgsql as $$ begin insert into queued values (1); return new; end $$;
      create trigger note after insert on wakeups for each row execute function note()`)
    const before = await countAnswers()
    expect(await send(process.url)).to.equal(201)
    await waitUntil(async () => (await countAnswers()) === before + 1)
    const { rows } = await app.system.db.raw<{ rows: object[] }>('select n from queued')
    await app.system.db.raw('drop function note cascade; drop table queued')
    expect(rows).to.have.length(0)
  })

  for (const failpoint of ['after ingest', 'after advance'] as const) {
    it(`that is killed ${failpoint} was committed leaves the message to another process, which answers it within seconds`, async () => {
      other = await startProcess(app)
      process = await startProcess(app)
      const before = await countAnswers()
      const received = await countMessages({ direction: 'inbound' })
      process.arm(failpoint)
      await send(process.url).catch(() => undefined)
      await process.exited
      expect(await countMessages({ direction: 'inbound' })).to.equal(received + 1)
      await waitUntil(async () => (await countAnswers()) > before, FOUND_WITHIN_MS)
      expect(await countAnswers()).to.equal(before + 1)
    })
  }

  it('that is killed with the jobs that it has claimed leaves the message to another one, which answers it within seconds', async () => {
    const before = await countAnswers()
    expect(await send(app.url)).to.equal(201)
    expect(await app.listWaitingJobs()).to.deep.equal([`advance:${workspace.tenantId}`])
    const claiming = await forkProcess(app, { roles: 'worker', failpoint: 'after claim jobs' })
    await claiming.exited
    expect(await app.listWaitingJobs()).to.deep.equal([])
    process = await startProcess(app, { roles: 'worker' })
    await waitUntil(async () => (await countAnswers()) > before, FOUND_WITHIN_MS)
    expect(await countAnswers()).to.equal(before + 1)
  })

  it('answers a message whose job was lost in the queue within seconds', async () => {
    const before = await countAnswers()
    expect(await send(app.url)).to.equal(201)
    await app.removeWaitingJobs()
    process = await startProcess(app, { roles: 'worker' })
    await waitUntil(async () => (await countAnswers()) > before, FOUND_WITHIN_MS)
    expect(await countAnswers()).to.equal(before + 1)
  })
})
