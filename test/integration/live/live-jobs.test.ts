import { expect } from 'chai'
import type { JobChange } from '../../../src/features/live/follow-job.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { buildCsv, importCsv } from '../../support/imports.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('jobs.follow', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  it('delivers the state of the job until it has ended, and no changes of other jobs', async () => {
    const tx = await app.system.db.transaction()
    // The job waits for the person that this transaction is creating.
    const csv = buildCsv(3)
    await tx('contacts').insert({
      tenant_id: workspace.tenantId,
      id: '0199c0de-0000-7000-8000-0000000abc01',
      name: 'First',
      phone: csv.split('\n')[1]?.split(',')[1] ?? '',
      phone_key: csv.split('\n')[1]?.split(',')[1] ?? '',
      source: 'api',
    })
    const { body: job } = await importCsv(workspace, csv)
    const { body: other } = await importCsv(workspace, buildCsv(2, { from: 100 }))
    const stream = await openEventStream<JobChange>(app.url, workspace, {
      procedure: 'jobs.follow',
      input: { jobId: job.id },
    })
    await tx.commit()
    const items = await stream.until((data) => data.type === 'job' && data.job.status === 'completed')
    stream.close()
    await app.work()
    const ids = items.flatMap(({ data }) => (data.type === 'job' ? [data.job.id] : []))
    expect(new Set(ids)).to.deep.equal(new Set([job.id]))
    expect(stream.initialId).to.not.equal('')
    const last = items.at(-1)?.data
    expect(last?.type === 'job' && last.job.counts).to.deep.include({ total: 3, created: 2, updated: 1 })
    expect((await workspace.call('GET', `/api/jobs/${other.id}`)).status).to.equal('completed')
  })
})
