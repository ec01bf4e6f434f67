import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { purgeJobs } from '../../../src/features/jobs/purge-jobs.ts'
import { newId } from '../../../src/platform/ids.ts'
import { DAY, MINUTE } from '../../../src/platform/time.ts'
import { buildContact, buildMember, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { buildCsv, importCsv } from '../../support/imports.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('jobs', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })
  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const getJob = (jobId: string) => workspace.call('GET', `/api/jobs/${jobId}`)
  const countStored = ({ counts }: ApiResponse['body']) =>
    counts.created + counts.updated + counts.unchanged + counts.failed

  async function start(content: string, client = workspace): Promise<string> {
    const { status, body } = await importCsv(client, content)
    expect(status, JSON.stringify(body)).to.equal(202)
    return body.id
  }

  async function readEvents(): Promise<string[]> {
    const { items } = await workspace.call('GET', '/api/events?types=job.*&limit=100')
    return items.map(({ type }: { type: string }) => type)
  }

  /** Locks a contact that the first rows of a file change, so that its job is at work until the lock is released. */
  async function holdFirstPortion(): Promise<{ csv: string; release: () => Promise<void> }> {
    const csv = buildCsv(1200)
    const phone = csv.split('\n')[1]?.split(',')[1]
    const { id } = await buildContact(workspace, { name: 'Locked', phone })
    const tx = await app.system.db.transaction()
    await tx('contacts').where({ tenant_id: workspace.tenantId, id }).forUpdate()
    return { csv, release: async () => void (await tx.commit()) }
  }

  const waitForLock = () => waitUntil(async () => (await countLockWaits(app)) > 0)

  it('are listed newest first, by status and type, and run one after the other', async () => {
    const { csv, release } = await holdFirstPortion()
    const first = await start(csv)
    await waitForLock()
    const second = await start(buildCsv(2, { from: 5000 }))
    const running = await workspace.call('GET', '/api/jobs?status=running')
    expect(running.items.map(({ id }: { id: string }) => id)).to.deep.equal([first])
    expect((await getJob(second)).status).to.equal('queued')
    await release()
    await app.work()
    const { items, total } = await workspace.call('GET', '/api/jobs?type=contacts_import')
    expect([total, ...items.map(({ id }: { id: string }) => id)]).to.deep.equal([2, second, first])
    expect((await getJob(first)).counts).to.deep.include({ total: 1200, created: 1199, updated: 1 })
    expect(await readEvents()).to.include.members(['job.created', 'job.started', 'job.completed'])
  })

  it('end with the portion that is being stored when they are canceled, and what was done stays', async () => {
    const { csv, release } = await holdFirstPortion()
    const id = await start(csv)
    await waitForLock()
    const canceling = workspace.call('POST', `/api/jobs/${id}/cancel`, {})
    await release()
    const canceled = await canceling
    expect(canceled.status).to.equal('canceled')
    await app.work()
    const job = await getJob(id)
    expect(job).to.deep.equal(canceled)
    expect(countStored(job) % 500).to.equal(0)
    const contacts = await workspace.call('GET', '/api/contacts')
    expect(contacts.total).to.equal(1 + job.counts.created)
    expect((await workspace.call('POST', `/api/jobs/${id}/cancel`, {})).status).to.equal('canceled')
    const again = await start(csv)
    expect(again).to.not.equal(id)
    await app.work()
    expect((await workspace.request('POST', `/api/jobs/${again}/cancel`, {})).body.code).to.equal('job_status_conflict')
  })

  it('are at most 20 of a workspace that have not ended', async () => {
    const { csv, release } = await holdFirstPortion()
    await start(csv)
    await waitForLock()
    const ids: string[] = []
    for (let index = 1; index < 20; index += 1) ids.push(await start(buildCsv(1, { from: 6000 + index })))
    const { status, body } = await importCsv(workspace, buildCsv(1))
    expect([status, body.code]).to.deep.equal([409, 'too_many_jobs'])
    expect(body.error).to.match(/Wait until one has ended, or cancel one/)
    const canceled = await workspace.call('POST', `/api/jobs/${ids[0]}/cancel`, {})
    expect(canceled).to.deep.include({ status: 'canceled', startedAt: null })
    await start(buildCsv(1))
    await release()
    await app.work()
    expect((await workspace.call('GET', '/api/jobs?status=completed')).total).to.equal(20)
  })

  it('of a type that a later version has added are left to its processes, and delay no others', async () => {
    const { csv, release } = await holdFirstPortion()
    const known = await start(csv)
    await waitForLock()
    const { db } = app.system
    const columns = ['tenant_id', 'input', 'total', 'actor', 'created_at', 'updated_at', 'has_file']
    const id = newId()
    await db.raw(
      `insert into jobs (id, type, status, work_at, ${columns.join(', ')})
       select ?, 'of_a_later_version', 'queued', created_at, ${columns.map((name) => (name === 'has_file' ? 'false' : name)).join(', ')}
       from jobs where id = ?`,
      [id, known],
    )
    const next = await start(buildCsv(1, { from: 7000 }))
    await release()
    await waitUntil(async () => (await getJob(next)).status === 'completed')
    expect(await db('jobs').where({ id }).first()).to.include({ status: 'queued', attempts: 0 })
    const { items, total } = await workspace.call('GET', '/api/jobs')
    expect([total, ...items.map((job: { id: string }) => job.id)]).to.deep.equal([2, next, known])
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/cancel'],
    ] as const)
      expect((await workspace.request(method, `/api/jobs/${id}${path}`)).status).to.equal(404)
    await db('jobs').where({ id }).delete()
  })

  it('of one workspace do not wait for those of another', async () => {
    const { csv, release } = await holdFirstPortion()
    await start(csv)
    await waitForLock()
    const other = await buildWorkspace(app)
    const id = await start(buildCsv(3), other)
    await waitUntil(async () => (await other.call('GET', `/api/jobs/${id}`)).status === 'completed')
    await release()
    await app.work()
  })

  it('are tried again after an unexpected error, and fail after five of them in a row', async () => {
    const { csv, release } = await holdFirstPortion()
    await start(csv)
    await waitForLock()
    const id = await start(buildCsv(3))
    // The file of a job that has not begun is lost.
    await rm(join(app.dataDir, 'media', 'files', workspace.tenantId, id))
    await release()
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await app.work()
      const { status } = await getJob(id)
      expect(status, `after ${attempt} attempts`).to.equal(attempt === 5 ? 'failed' : 'running')
      app.clock.advance(3 * MINUTE)
    }
    const { error, counts } = await getJob(id)
    expect(error.code).to.equal('internal')
    expect(counts).to.deep.equal({ total: 3, created: 0, updated: 0, unchanged: 0, failed: 0 })
    expect(await start(buildCsv(3))).to.not.equal(id)
    await app.work()
  })

  it('fail after ten workers in a row that ended without a result', async () => {
    const { csv, release } = await holdFirstPortion()
    await start(csv)
    await waitForLock()
    const id = await start(buildCsv(3))
    await app.system.db('jobs').where({ id }).update({ attempts: 10 })
    await release()
    await app.work()
    expect(await getJob(id)).to.deep.include({ status: 'failed' })
    expect((await getJob(id)).error.message).to.include('ended again and again')
  })

  it('are canceled once their creator is demoted or removed, or the API key revoked', async () => {
    const { csv, release } = await holdFirstPortion()
    const first = await start(csv)
    await waitForLock()
    const [demoted, removed] = [await buildMember(workspace, 'agent'), await buildMember(workspace, 'agent')]
    const ids = [await start(buildCsv(1, { from: 7000 }), demoted), await start(buildCsv(1, { from: 7001 }), removed)]
    const key = await workspace.call('POST', '/api/api-keys', { name: 'Imports', scopes: ['contacts:write'] })
    const actor = { type: 'key', id: key.id, name: 'Imports', scopes: ['contacts:write'], channelIds: null }
    const ofKey = await start(buildCsv(1, { from: 7002 }))
    await app.system.db('jobs').where({ id: ofKey }).update({ actor })
    await workspace.call('PATCH', `/api/members/${demoted.userId}`, { role: 'viewer' })
    await workspace.call('DELETE', `/api/members/${removed.userId}`)
    await workspace.call('DELETE', `/api/api-keys/${key.id}`)
    await release()
    await app.work()
    for (const id of [...ids, ofKey]) {
      const job = await getJob(id)
      expect([job.status, job.error?.code, countStored(job)]).to.deep.equal(['canceled', 'forbidden', 0])
    }
    expect((await getJob(first)).status).to.equal('completed')
  })

  it('are deleted with their results 30 days after their end', async () => {
    await start(buildCsv(30))
    await app.work()
    const count = async (table: string) => (await app.system.db(table).where('tenant_id', workspace.tenantId)).length
    app.clock.advance(29 * DAY)
    await purgeJobs(app.system)
    expect([await count('jobs'), await count('job_items')]).to.deep.equal([1, 30])
    app.clock.advance(2 * DAY)
    await purgeJobs(app.system)
    expect([await count('jobs'), await count('job_items')]).to.deep.equal([0, 0])
  })
})
