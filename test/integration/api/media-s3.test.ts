import { expect } from 'chai'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeS3 } from '../../support/fake-s3.ts'
import { buildCsv, importCsv } from '../../support/imports.ts'
import { listFiles } from '../../support/list-files.ts'
import { uploadText } from '../../support/media.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('media in an S3-compatible store', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let s3: FakeS3

  before(async () => {
    s3 = await FakeS3.start()
    app = await startTestApp(s3.environment)
    workspace = await buildWorkspace(app)
  })

  after(async () => {
    await app.stop()
    await s3.stop()
  })

  it('is put, read in parts and deleted with signed requests', async () => {
    const id = await uploadText(workspace, 'in a bucket')
    expect([...s3.objects.keys()]).to.deep.equal([`/media/${workspace.tenantId}/${id}`])
    const { url } = await workspace.call('GET', `/api/media/${id}`)
    expect(await (await fetch(app.url + url)).text()).to.equal('in a bucket')
    const part = await fetch(app.url + url, { headers: { range: 'bytes=5-10' } })
    expect([part.status, await part.text()]).to.deep.equal([206, 'bucket'])
    expect((await workspace.request('DELETE', `/api/media/${id}`)).status).to.equal(204)
    expect(s3.objects.size).to.equal(0)
    expect(s3.rejected).to.equal(0)
  })

  it('is imported as contacts, from an upload and from the body', async () => {
    const mediaId = await uploadText(workspace, buildCsv(700))
    const uploaded = await workspace.call('POST', '/api/contacts/import', { mediaId })
    const { body: sent } = await importCsv(workspace, buildCsv(1200, { from: 700 }))
    expect([...s3.objects.keys()]).to.include.members(
      [uploaded, sent].map(({ id }) => `/media/${workspace.tenantId}/${id}`),
    )
    await app.work()
    for (const [{ id }, count] of [
      [uploaded, 700],
      [sent, 1200],
    ] as const) {
      const { status, counts } = await workspace.call('GET', `/api/jobs/${id}`)
      expect(status).to.equal('completed')
      expect(counts).to.deep.equal({ total: count, created: count, updated: 0, unchanged: 0, failed: 0 })
    }
    expect([...s3.objects.keys()]).to.deep.equal([`/media/${workspace.tenantId}/${mediaId}`])
    expect(s3.rejected).to.equal(0)
    await workspace.call('DELETE', `/api/media/${mediaId}`)
  })

  it('is not stored in part when the store has no room', async () => {
    s3.isFull = true
    expect(await uploadText(workspace, 'too much')).to.equal(undefined)
    s3.isFull = false
    expect(await app.system.db('media').where('tenant_id', workspace.tenantId)).to.deep.equal([])
    expect(await listFiles(app.dataDir, 'media/incoming')).to.deep.equal([])
    expect(await uploadText(workspace, 'too much')).to.be.a('string')
  })
})
