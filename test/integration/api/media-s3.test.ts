import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { s3Store } from '../../../src/platform/files/s3-store.ts'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeS3 } from '../../support/fake-s3.ts'
import { buildCsv, importCsv } from '../../support/imports.ts'
import { listFiles } from '../../support/list-files.ts'
import { uploadText } from '../../support/media.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('media in an S3-compatible store', function () {
  this.timeout(120_000)
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

  it('is imported with each row once when the connection to the store is cut in the middle', async () => {
    s3.halves.cut = 2
    const { body } = await importCsv(workspace, buildCsv(3000, { from: 10_000 }))
    const getJob = () => workspace.call('GET', `/api/jobs/${body.id}`)
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await app.work()
      expect(await getJob()).to.deep.include({ status: 'running', error: null })
      app.clock.advance(10 * SECOND)
    }
    await app.work()
    const { status, counts } = await getJob()
    expect([status, counts]).to.deep.equal([
      'completed',
      { total: 3000, created: 3000, updated: 0, unchanged: 0, failed: 0 },
    ])
  })

  it('is no longer read for an import after five failures in a row, and the job has a reason', async () => {
    s3.halves.cut = Infinity
    const { body } = await importCsv(workspace, buildCsv(20, { from: 30_000 }))
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await app.work()
      app.clock.advance(3 * MINUTE)
    }
    s3.halves.cut = 0
    const { status, error } = await workspace.call('GET', `/api/jobs/${body.id}`)
    expect([status, error.code]).to.deep.equal(['failed', 'internal'])
    expect(error.message).to.include('send the others again')
  })

  it('fails within its deadline when the store sends nothing more', async () => {
    const { S3_ENDPOINT: endpoint = '', S3_BUCKET: bucket = '', S3_REGION: region = '' } = s3.environment
    const { S3_ACCESS_KEY_ID: accessKeyId = '', S3_SECRET_ACCESS_KEY: secretAccessKey = '' } = s3.environment
    const store = s3Store({ endpoint, bucket, region, accessKeyId, secretAccessKey }, { idleMs: 200 })
    s3.objects.set('/media/stalled', Buffer.alloc(100_000))
    s3.halves.stalled = 1
    const startedAt = performance.now()
    const error: unknown = await text(await store.open('stalled')).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(Error).with.property('code', 'UND_ERR_BODY_TIMEOUT')
    expect(performance.now() - startedAt).to.be.below(10 * SECOND)
    s3.objects.delete('/media/stalled')
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
