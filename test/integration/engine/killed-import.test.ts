import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildCsv, importCsv } from '../../support/imports.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ROWS = 12_000
const KILLS = 4

describe('workers killed during an import', function () {
  this.timeout(300_000)
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

  it('repeat no row and lose none, and the counts are exact', async () => {
    const environment = { DATABASE_URL: app.databaseUrl, ROLES: 'worker', DATA_DIR: app.dataDir }
    const lines = buildCsv(ROWS).trimEnd().split('\n')
    // In each portion there is a person of the first one, and a row that fails.
    for (let index = 1000; index < ROWS; index += 500) {
      lines[index] = lines[1] ?? ''
      lines[index + 1] = 'No number,1'
    }
    const again = (ROWS - 1000) / 500
    const { body } = await importCsv(workspace, lines.join('\n'))
    const getJob = () => workspace.call('GET', `/api/jobs/${body.id}`)
    const countItems = async () => (await app.system.db('job_items').where({ job_id: body.id })).length
    let killed = 0
    for (let kill = 1; kill <= KILLS; kill += 1) {
      worker = await startParleyProcess(environment)
      await waitUntil(async () => (await countItems()) >= (ROWS * kill) / (KILLS + 2))
      await worker.kill()
      const { status, counts } = await getJob()
      expect(counts.created + counts.updated + counts.unchanged + counts.failed).to.equal(await countItems())
      if (status === 'running') killed += 1
      // What another process would wait for: the time for which the killed one had claimed the job.
      await app.system.db('jobs').where({ id: body.id }).whereNotNull('work_at').update({ work_at: new Date() })
    }
    expect(killed, 'workers killed while the job was running').to.be.above(0)
    worker = await startParleyProcess(environment)
    await waitUntil(async () => (await getJob()).status === 'completed')
    const { counts } = await getJob()
    expect(counts).to.deep.equal({
      total: ROWS,
      created: ROWS - 2 * again,
      updated: 0,
      unchanged: again,
      failed: again,
    })
    expect((await workspace.call('GET', '/api/contacts')).total).to.equal(ROWS - 2 * again)
    const { rows } = await app.system.db.raw<{ rows: { lines: number; first: number; last: number }[] }>(
      `select count(distinct line)::int as lines, min(line) as first, max(line) as last from job_items`,
    )
    expect(rows[0]).to.deep.equal({ lines: ROWS, first: 2, last: ROWS + 1 })
  })
})
