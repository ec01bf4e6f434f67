import { expect } from 'chai'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp } from '../../support/app.ts'
import { BlockedReads } from '../../support/blocked-reads.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('a process that stops', function () {
  this.timeout(60_000)

  it('answers the requests in progress, and closes their connections', async () => {
    const app = await startTestApp({ DB_REQUESTS_STATEMENT_TIMEOUT_MS: '60000' })
    const workspace = await buildWorkspace(app)
    const { id } = await buildContact(workspace)
    const reads = await BlockedReads.start(app.databaseUrl, workspace.tenantId)
    const read = workspace.request('GET', `/api/contacts/${id}`)
    await reads.waitForCount(1)
    const stopped = app.stop(60_000)
    await waitUntil(() =>
      fetch(`${app.url}/healthz`).then(
        () => false,
        () => true,
      ),
    )
    await reads.release()
    const { status, headers } = await read
    expect([status, headers.get('connection')]).to.deep.equal([200, 'close'])
    await stopped
  })
})
