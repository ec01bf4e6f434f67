import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { buildContact, buildMember, buildWorkflow, buildWorkspace, newPhone } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { buildCsv, importCsv } from '../../support/imports.ts'
import { readResults } from '../../support/job-results.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { recordStatements } from '../../support/statements.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const REPLAY = '/api/runs/bulk-replay'
const CANCEL = '/api/runs/bulk-cancel'
const WAITS = [{ id: 'wait', type: 'wait', for: 'P1D' }]
const TAGS = [{ id: 'mark', type: 'add_tag', tags: ['marked'] }]

async function buildContacts(workspace: WorkspaceClient, count: number): Promise<string[]> {
  const items = Array.from({ length: count }, (_, index) => ({ name: `Contact ${index}`, phone: newPhone() }))
  const { results } = await workspace.call('POST', '/api/contacts/bulk', { items })
  return results.map(({ id }: { id: string }) => id)
}

const build = (workspace: WorkspaceClient, steps: object[]): Promise<{ id: string }> =>
  buildWorkflow(workspace, { settings: { reentry: 'parallel' }, triggers: [{ type: 'api' }], steps })

const startRuns = (workspace: WorkspaceClient, workflowId: string, contactIds: string[]) =>
  workspace.call('POST', `/api/workflows/${workflowId}/runs/bulk`, { contactIds })

describe('jobs on runs', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })
  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const getJob = ({ id }: { id: string }) => workspace.call('GET', `/api/jobs/${id}`)
  const listRuns = async (query: string): Promise<ApiResponse['body']> => workspace.call('GET', `/api/runs?${query}`)
  const listItems = ({ id }: { id: string }) => app.system.db('job_items').where({ job_id: id }).orderBy('line')

  /** Starts a workflow for new contacts and lets the runs go as far as they can. */
  async function buildRuns(steps: object[], count: number): Promise<{ workflowId: string; contactIds: string[] }> {
    const { id: workflowId } = await build(workspace, steps)
    const contactIds = await buildContacts(workspace, count)
    await startRuns(workspace, workflowId, contactIds)
    await app.work()
    return { workflowId, contactIds }
  }

  it('POST /api/runs/bulk-replay replays each run that the filter finds once, the oldest first', async () => {
    const { workflowId } = await buildRuns(TAGS, 45)
    const { total, items } = await listRuns(`workflowId=${workflowId}&status=completed&limit=100&sort=createdAt`)
    const filter = { workflowId, status: 'completed' }
    const { status, body } = await workspace.request('POST', REPLAY, { filter, expectedCount: total })
    expect(status).to.equal(202)
    expect(body).to.include({ type: 'runs_replay' })
    await app.work()
    const job = await getJob(body)
    expect(job.status).to.equal('completed')
    expect(job.counts).to.deep.equal({ total: 45, created: 45, updated: 0, unchanged: 0, failed: 0 })
    const { items: replays } = await listRuns(`workflowId=${workflowId}&limit=100`)
    const originals = new Map<string, string>(
      replays.flatMap((run: { id: string; replayOf: string | null }) => (run.replayOf ? [[run.id, run.replayOf]] : [])),
    )
    const targets = (await listItems(body)).map(({ target_id }) => originals.get(target_id))
    expect(targets).to.deep.equal(items.map(({ id }: { id: string }) => id))
    const results = await readResults(workspace, job)
    expect(results.map(({ id, sourceId }) => originals.get(id) === sourceId)).to.deep.equal(items.map(() => true))
    expect((await listRuns(`workflowId=${workflowId}&status=completed`)).total).to.equal(90)
  })

  it('POST /api/runs/bulk-replay runs the published version if it is asked to', async () => {
    const { workflowId } = await buildRuns([{ id: 'fail', type: 'stop', status: 'failed' }], 2)
    await workspace.call('PATCH', `/api/workflows/${workflowId}`, {
      definition: { version: 1, triggers: [{ type: 'api' }], steps: TAGS },
    })
    await workspace.call('POST', `/api/workflows/${workflowId}/publish`, {})
    const { total } = await listRuns(`workflowId=${workflowId}&version=1`)
    expect(total).to.equal(2)
    const body = { filter: { workflowId, version: 1 }, expectedCount: 2, from: 'start', version: 'published' }
    await workspace.call('POST', REPLAY, body)
    await app.work()
    expect((await listRuns(`workflowId=${workflowId}&version=2&status=completed`)).total).to.equal(2)
  })

  it('POST /api/runs/bulk-replay fails runs that cannot be replayed, and replays the others', async () => {
    const { workflowId, contactIds } = await buildRuns(TAGS, 3)
    await workspace.call('PATCH', `/api/contacts/${contactIds[1]}`, { blocked: true })
    const waiting = await build(workspace, WAITS)
    await startRuns(workspace, waiting.id, contactIds.slice(0, 1))
    await app.work()
    const job = await workspace.call('POST', REPLAY, { filter: {}, expectedCount: 4 })
    await app.work()
    expect((await getJob(job)).counts).to.deep.equal({ total: 4, created: 2, updated: 0, unchanged: 0, failed: 2 })
    const items = await listItems(job)
    expect(items.map(({ error }) => error?.code ?? null)).to.deep.equal([
      null,
      'contact_blocked',
      null,
      'run_not_finished',
    ])
    expect((await listRuns(`workflowId=${workflowId}`)).total).to.equal(5)
  })

  const FAIL = [{ id: 'fail', type: 'stop', status: 'failed' }]
  const replayFailed = async (expectedCount: number): Promise<ApiResponse['body']> => {
    const job = await workspace.call('POST', REPLAY, { filter: { status: 'failed' }, expectedCount })
    await app.work()
    return (await getJob(job)).counts
  }

  it('POST /api/runs/bulk-replay replays no run that has a live replay, so that a repeated call replays each failure once', async () => {
    await buildRuns(FAIL, 2)
    expect(await replayFailed(2)).to.deep.include({ created: 2, unchanged: 0 })
    // The originals have not changed: the filter finds them together with their replays, which have failed, too.
    expect(await replayFailed(4)).to.deep.include({ created: 2, unchanged: 2 })
    expect((await listRuns('status=failed')).total).to.equal(6)
  })

  it('POST /api/runs/bulk-replay replays a run of which there are only dry replays', async () => {
    await buildRuns(FAIL, 1)
    const [run] = (await listRuns('status=failed')).items
    await workspace.call('POST', `/api/runs/${run.id}/replay`, { mode: 'dry_run' })
    expect(await replayFailed(2)).to.deep.include({ created: 1, unchanged: 0, failed: 1 })
  })

  it('POST /api/runs/bulk-replay leaves a child run to the replay of its parent', async () => {
    const child = await build(workspace, FAIL)
    await buildRuns([{ id: 'sub', type: 'run_workflow', workflowId: child.id, wait: true }], 1)
    expect(await replayFailed(2)).to.deep.include({ created: 1, unchanged: 1, failed: 0 })
    const { total } = await listRuns(`workflowId=${child.id}`)
    expect(total).to.equal(2)
  })

  it('POST /api/runs/bulk-cancel cancels each run that the filter finds', async () => {
    const { workflowId } = await buildRuns(WAITS, 45)
    const { workflowId: other } = await buildRuns(WAITS, 2)
    const job = await workspace.call('POST', CANCEL, { filter: { workflowId, status: 'waiting' }, expectedCount: 45 })
    await app.work()
    expect(await getJob(job)).to.deep.include({
      type: 'runs_cancel',
      status: 'completed',
      counts: { total: 45, created: 0, updated: 45, unchanged: 0, failed: 0 },
    })
    expect((await listRuns(`workflowId=${workflowId}&status=canceled`)).total).to.equal(45)
    expect((await listRuns(`workflowId=${other}&status=waiting`)).total).to.equal(2)
    const again = await workspace.call('POST', CANCEL, { filter: { workflowId }, expectedCount: 45 })
    await app.work()
    expect((await getJob(again)).counts).to.deep.include({ updated: 0, unchanged: 45 })
  })

  it('return 409 with the number of runs unless it is the expected one, and change nothing', async () => {
    const { workflowId } = await buildRuns(WAITS, 3)
    for (const expectedCount of [1, 2, 4, 10_000]) {
      for (const path of [REPLAY, CANCEL]) {
        const { status, body } = await workspace.request('POST', path, { filter: { workflowId }, expectedCount })
        expect([status, body.code, body.details]).to.deep.equal([409, 'count_differs', { count: 3 }])
      }
    }
    const { status, body } = await workspace.request('POST', CANCEL, { filter: { workflowId }, expectedCount: 10_001 })
    expect([status, body.code]).to.deep.equal([400, 'validation_failed'])
    const refused = { filter: { workflowId }, expectedCount: 2 }
    const statements = await recordStatements(() => workspace.request('POST', CANCEL, refused))
    expect(statements.filter(({ text }) => /insert into (?:jobs|job_targets|events)/.test(text))).to.deep.equal([])
    expect((await workspace.call('GET', '/api/jobs')).total).to.equal(0)
    await app.work()
    expect((await listRuns(`workflowId=${workflowId}&status=waiting`)).total).to.equal(3)
  })

  it('that cancel do not wait for an import of the workspace', async () => {
    const { workflowId } = await buildRuns(WAITS, 3)
    const [row = ''] = buildCsv(1).split('\n').slice(1)
    const { id } = await buildContact(workspace, { name: 'Locked', phone: row.split(',')[1] })
    const tx = await app.system.db.transaction()
    try {
      await tx('contacts').where({ tenant_id: workspace.tenantId, id }).forUpdate()
      const { body: imported } = await importCsv(workspace, buildCsv(2))
      await waitUntil(async () => (await countLockWaits(app)) > 0)
      const job = await workspace.call('POST', CANCEL, { filter: { workflowId }, expectedCount: 3 })
      await waitUntil(async () => (await getJob(job)).status === 'completed')
      expect((await listRuns(`workflowId=${workflowId}&status=canceled`)).total).to.equal(3)
      expect((await getJob(imported)).status).to.equal('running')
    } finally {
      await tx.commit()
    }
    await app.work()
  })

  it('find no runs of another workspace', async () => {
    const { workflowId, contactIds } = await buildRuns(WAITS, 2)
    const other = await buildWorkspace(app)
    for (const filter of [{ workflowId }, { contactId: contactIds[0] }, {}]) {
      const { status, body } = await other.request('POST', CANCEL, { filter, expectedCount: 2 })
      expect([status, body.details]).to.deep.equal([409, { count: 0 }])
    }
    expect((await listRuns(`workflowId=${workflowId}&status=waiting`)).total).to.equal(2)
  })

  it('are created once for the same Idempotency-Key, by admins and keys with the scope', async () => {
    const { workflowId } = await buildRuns(TAGS, 2)
    const input = { filter: { workflowId, status: 'completed,failed' }, expectedCount: 2 }
    const agent = await buildMember(workspace, 'agent')
    expect((await agent.request('POST', REPLAY, input)).status).to.equal(403)
    const { key } = await workspace.call('POST', '/api/api-keys', { name: 'Runs', scopes: ['runs:write'] })
    const send = () =>
      app.rest('POST', REPLAY, { body: input, headers: { authorization: `Bearer ${key}`, 'idempotency-key': 'once' } })
    const first = await send()
    expect(first.status).to.equal(202)
    await app.work()
    expect((await send()).body.id).to.equal(first.body.id)
    await app.work()
    expect((await listRuns(`workflowId=${workflowId}`)).total).to.equal(4)
  })
})

describe('jobs on runs whose workers are killed', function () {
  this.timeout(300_000)
  const RUNS = 400
  const KILLS = 3
  let app: TestApp
  let workspace: WorkspaceClient
  let worker: ParleyProcess | undefined

  before(async () => {
    // This process only serves HTTP; the worker processes that the test kills do the work.
    app = await startTestApp({ ROLES: 'http' }, systemClock)
    workspace = await buildWorkspace(app)
  })
  after(async () => {
    await worker?.kill()
    await app.stop()
  })

  const count = async (query: string): Promise<number> => (await workspace.call('GET', `/api/runs?${query}`)).total

  /** Kills workers at different positions of the job until it has ended. */
  async function killWorkers({ id }: { id: string }): Promise<void> {
    const environment = { DATABASE_URL: app.databaseUrl, ROLES: 'worker', DATA_DIR: app.dataDir }
    const countItems = async () => (await app.system.db('job_items').where({ job_id: id })).length
    const isRunning = async () => (await app.system.db('jobs').where({ id, status: 'running' })).length
    let killed = 0
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await worker?.kill()
      if (kill > 1) killed += await isRunning()
      // What another process would wait for: the time for which the killed one had claimed the job.
      await app.system.db('jobs').where({ id }).whereNotNull('work_at').update({ work_at: new Date() })
      worker = await startParleyProcess(environment)
      await waitUntil(async () => (await countItems()) >= (RUNS * kill) / (KILLS + 2))
    }
    await worker?.kill()
    killed += await isRunning()
    expect(killed, 'workers killed while the job was running').to.be.above(0)
    await app.system.db('jobs').where({ id }).whereNotNull('work_at').update({ work_at: new Date() })
    worker = await startParleyProcess(environment)
    await waitUntil(async () => (await workspace.call('GET', `/api/jobs/${id}`)).status === 'completed')
  }

  it('replay and cancel each run once, and none that started later', async () => {
    const { id: workflowId } = await build(workspace, WAITS)
    const contactIds = await buildContacts(workspace, RUNS)
    await startRuns(workspace, workflowId, contactIds)
    const cancel = await workspace.call('POST', CANCEL, { filter: { workflowId }, expectedCount: RUNS })
    await startRuns(workspace, workflowId, contactIds.slice(0, 10))
    const [newest] = (await workspace.call('GET', `/api/runs?workflowId=${workflowId}&limit=1&sort=createdAt`)).items
    await workspace.call('POST', `/api/runs/${newest.id}/cancel`, {})
    await killWorkers(cancel)
    const canceled = await workspace.call('GET', `/api/jobs/${cancel.id}`)
    expect(canceled.counts).to.deep.equal({ total: RUNS, created: 0, updated: RUNS - 1, unchanged: 1, failed: 0 })
    expect(await count(`workflowId=${workflowId}&status=canceled`)).to.equal(RUNS)
    await waitUntil(async () => (await count(`workflowId=${workflowId}&status=waiting`)) === 10)

    const filter = { workflowId, status: 'canceled' }
    await worker?.kill()
    const replay = await workspace.call('POST', REPLAY, { filter, expectedCount: RUNS })
    await killWorkers(replay)
    const replayed = await workspace.call('GET', `/api/jobs/${replay.id}`)
    expect(replayed.counts).to.deep.equal({ total: RUNS, created: RUNS, updated: 0, unchanged: 0, failed: 0 })
    const { rows } = await app.system.db.raw(
      `select count(*)::int as runs, count(distinct replay_of)::int as originals from runs where replay_of is not null`,
    )
    expect(rows[0]).to.deep.equal({ runs: RUNS, originals: RUNS })
  })
})
