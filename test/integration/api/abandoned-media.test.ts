import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { finishWrite, purgeMediaWrites, startWrite } from '../../../src/features/media/media-writes.ts'
import { newId } from '../../../src/platform/ids.ts'
import { HOUR, MINUTE } from '../../../src/platform/time.ts'
import type { Scope } from '../../../src/scope/scope.ts'
import { errorMessage } from '../../support/error-message.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeS3 } from '../../support/fake-s3.ts'
import { listFiles } from '../../support/list-files.ts'
import { uploadText } from '../../support/media.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('files of processes that ended', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let scope: Scope
  let s3: FakeS3
  let folder: TempDir

  before(async () => {
    folder = createTempDir()
    s3 = await FakeS3.start()
    app = await startTestApp(s3.environment)
    workspace = await buildWorkspace(app)
    scope = app.system.forTenant(workspace.tenantId)
  })

  after(async () => {
    await app.stop()
    await s3.stop()
    await folder.remove()
  })

  /** Puts a file into the store, as a process does that ends before it inserts the row. */
  async function abandon() {
    const write = await startWrite(scope, newId())
    const path = join(folder.path, write.id)
    writeFileSync(path, 'abandoned')
    await scope.files.put(write.key, path, {
      bytes: 9,
      sha256: '20e7f550122ee415de2b6d761a474ea5a363cbb575604f18b1fffb269e4cf48a',
    })
    return write
  }

  const countWrites = async () => (await app.system.db('media_writes').where('tenant_id', workspace.tenantId)).length

  it('are deleted from the store after an hour, and stored ones are not', async () => {
    const stored = await uploadText(workspace, 'stored')
    await abandon()
    app.clock.advance(30 * MINUTE)
    await purgeMediaWrites(app.system)
    expect(s3.objects.size).to.equal(2)
    app.clock.advance(HOUR)
    await Promise.all([purgeMediaWrites(app.system), purgeMediaWrites(app.system)])
    expect([...s3.objects.keys()]).to.deep.equal([`/media/${workspace.tenantId}/${stored}`])
    expect(await countWrites()).to.equal(0)
  })

  it('are deleted later when the store cannot delete them', async () => {
    const id = await uploadText(workspace, 'deleted')
    s3.refusesDeletes = true
    expect((await workspace.request('DELETE', `/api/media/${id}`)).status).to.equal(204)
    s3.refusesDeletes = false
    expect(await countWrites()).to.equal(1)
    app.clock.advance(2 * HOUR)
    await purgeMediaWrites(app.system)
    expect([...s3.objects.keys()]).to.not.include(`/media/${workspace.tenantId}/${id}`)
    expect(await countWrites()).to.equal(0)
  })

  it('are not used by a process that was frozen for so long', async () => {
    const write = await abandon()
    app.clock.advance(2 * HOUR)
    await purgeMediaWrites(app.system)
    expect(await errorMessage(finishWrite(scope, write))).to.include('took too long')
  })

  it('are removed from the folder of received files at the next start', async () => {
    const dataDir = createTempDir()
    const incoming = join(dataDir.path, 'media', 'incoming')
    mkdirSync(incoming, { recursive: true })
    for (const [name, ageMs] of [
      ['old', 2 * HOUR],
      ['new', 0],
    ] as const) {
      writeFileSync(join(incoming, name), 'part')
      const time = new Date(app.clock.now().getTime() - ageMs)
      utimesSync(join(incoming, name), time, time)
    }
    const other = await startTestApp({ DATA_DIR: dataDir.path }, app.clock)
    try {
      expect(await listFiles(dataDir.path, 'media/incoming')).to.deep.equal(['new'])
    } finally {
      await other.stop()
      await dataDir.remove()
    }
  })
})
