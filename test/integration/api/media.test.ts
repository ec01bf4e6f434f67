import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { buildMember, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { listFiles } from '../../support/list-files.ts'
import { buildPng } from '../../support/media.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const MB = 1024 * 1024
describe('media', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  async function upload(body: Buffer | string, query = '', client = workspace): Promise<ApiResponse> {
    const response = await fetch(`${app.url}/api/media${query}`, {
      method: 'POST',
      headers: { cookie: client.cookie, 'x-tenant-id': client.tenantId, 'x-forwarded-for': newAddress() },
      body,
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  const download = (url: string, headers: Record<string, string> = {}) => fetch(app.url + url, { headers })

  it('is described by its detected type, size and hash, whatever the name says', async () => {
    const file = buildPng()
    const { status, body } = await upload(file, '?filename=..%2Fcat.exe')
    expect(status).to.equal(201)
    expect(body).to.include({ mimeType: 'image/png', size: file.length, filename: 'cat.exe.png' })
    expect(body.sha256).to.equal(createHash('sha256').update(file).digest('hex'))
    const { url: _, ...described } = await workspace.call('GET', `/api/media/${body.id}`)
    expect(body).to.deep.include(described)
  })

  it('is stored once when the same file is uploaded several times at once', async () => {
    const file = buildPng(3 * MB)
    const responses = await Promise.all([1, 2, 3, 4].map(() => upload(file)))
    expect([...new Set(responses.map(({ body }) => typeof body.id))]).to.deep.equal(['string'])
    expect(new Set(responses.map(({ body }) => body.id)).size).to.equal(1)
    expect(responses.filter(({ status }) => status === 201)).to.have.length(1)
    expect((await upload(file)).status).to.equal(200)
    expect(await listFiles(app.dataDir, `media/files/${workspace.tenantId}`)).to.have.length(1)
  })

  it('is saved under a name with an extension of its type, without characters that reverse the text', async () => {
    const text = await upload('Hello <script>alert(1)</script>', '?filename=hello.html')
    const page = await download(text.body.url)
    expect(page.headers.get('content-disposition')).to.equal(`attachment; filename*=UTF-8''hello.html.txt`)
    const table = await upload('a,b\n1,2', '?filename=table.CSV')
    const image = await upload(buildPng(), `?filename=${encodeURIComponent('cat\u202egpj.exe')}`)
    expect([text, table, image].map(({ body }) => body.filename)).to.deep.equal([
      'hello.html.txt',
      'table.CSV',
      'catgpj.exe.png',
    ])
  })

  it('is kept where only the user of the process can read it', async function () {
    if (process.platform === 'win32') this.skip()
    const { body } = await upload(buildPng())
    const folder = join(app.dataDir, 'media', 'files')
    const file = join(folder, workspace.tenantId, body.id)
    const paths = [join(app.dataDir, 'media'), folder, join(folder, workspace.tenantId), file]
    const modes = await Promise.all(paths.map(async (path) => ((await stat(path)).mode & 0o777).toString(8)))
    expect(modes).to.deep.equal(['700', '700', '700', '600'])
  })

  it('is returned with headers that keep browsers from executing it', async () => {
    const file = buildPng()
    const { body } = await upload(file, '?filename=caf%C3%A9.png')
    const response = await download(body.url)
    expect(response.status).to.equal(200)
    expect(Buffer.from(await response.arrayBuffer()).equals(file)).to.equal(true)
    const headers = Object.fromEntries(response.headers)
    expect(headers).to.include({
      'content-type': 'image/png',
      'content-length': String(file.length),
      'content-disposition': `inline; filename*=UTF-8''caf%C3%A9.png`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': `default-src 'none'; sandbox`,
      'cache-control': 'private, max-age=300',
    })
    const text = await upload('plain words')
    expect((await download(text.body.url)).headers.get('content-disposition')).to.equal('attachment')
  })

  it('is returned in parts', async () => {
    const file = buildPng()
    const { url } = (await upload(file)).body
    const parts: [range: string, start: number, end: number][] = [
      ['bytes=0-0', 0, 0],
      ['bytes=10-19', 10, 19],
      ['bytes=1000-', 1000, file.length - 1],
      ['bytes=-5', file.length - 5, file.length - 1],
      ['bytes=5-999999', 5, file.length - 1],
    ]
    for (const [range, start, end] of parts) {
      const response = await download(url, { range })
      expect(response.status, range).to.equal(206)
      expect(response.headers.get('content-range'), range).to.equal(`bytes ${start}-${end}/${file.length}`)
      expect(Buffer.from(await response.arrayBuffer()).equals(file.subarray(start, end + 1)), range).to.equal(true)
    }
    const beyond = await download(url, { range: `bytes=${file.length}-` })
    expect([beyond.status, beyond.headers.get('content-range')]).to.deep.equal([416, `bytes */${file.length}`])
    for (const range of ['bytes=0-1,3-4', 'bytes=5-2', 'lines=1-2', 'bytes=-']) {
      expect((await download(url, { range })).status, range).to.equal(200)
    }
    const head = await fetch(app.url + url, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, String(file.length)])
  })

  it('is returned for five minutes, and only under its own address', async () => {
    const { url } = (await upload(buildPng())).body
    const other = (await upload(buildPng())).body
    expect(
      (await download(url.replace(/media\/[^/]+\/[^?]+/, `media/${workspace.tenantId}/${other.id}`))).status,
    ).to.equal(403)
    expect((await download(url.replace(/expires=\d+/, 'expires=99999999999999'))).status).to.equal(403)
    expect((await download(url.replace(/signature=.*/, 'signature='))).status).to.equal(403)
    app.clock.advance(5 * MINUTE)
    expect((await download(url)).status).to.equal(403)
  })

  it('of another workspace is not found', async () => {
    const { id } = (await upload(buildPng())).body
    const other = await buildWorkspace(app)
    expect((await other.request('GET', `/api/media/${id}`)).status).to.equal(404)
    expect((await other.request('DELETE', `/api/media/${id}`)).status).to.equal(404)
  })

  it('is uploaded by agents and deleted by admins only', async () => {
    const agent = await buildMember(workspace, 'agent')
    const viewer = await buildMember(workspace, 'viewer')
    expect((await upload(buildPng(), '', viewer)).status).to.equal(403)
    expect((await fetch(`${app.url}/api/media`, { method: 'POST', body: 'x' })).status).to.equal(401)
    const { status, body } = await upload(buildPng(), '', agent)
    expect(status).to.equal(201)
    expect((await agent.request('DELETE', `/api/media/${body.id}`)).status).to.equal(403)
    expect((await workspace.request('DELETE', `/api/media/${body.id}`)).status).to.equal(204)
    expect((await download(body.url)).status).to.equal(404)
    expect(await listFiles(app.dataDir, 'media/files')).to.not.include(body.id)
  })

  it('is rejected when its content has a type that is not allowed', async () => {
    const files = [
      '<html><script>alert(1)</script>',
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      Buffer.from('MZ\x90\x00\x03'),
    ]
    for (const file of files) {
      const { status, body } = await upload(file, '?filename=photo.png')
      expect([status, body.code], String(file)).to.deep.equal([400, 'media_type_not_allowed'])
    }
    expect((await upload('')).body.code).to.equal('media_empty')
  })

  it('is rejected when it is larger than 100 MB, and leaves nothing', async () => {
    const declared = await rawUpload({ length: 101 * MB, chunks: [buildPng()] })
    expect(declared).to.equal(413)
    const endless = await rawUpload({ length: undefined, chunks: Array(101).fill(Buffer.alloc(MB, 'x')) })
    expect(endless).to.equal(413)
    expect(await listFiles(app.dataDir, 'media/incoming')).to.deep.equal([])
  })

  it('is refused while four uploads of the workspace are in progress, and other workspaces are not', async () => {
    const requests = Array.from({ length: 4 }, () => {
      const request = httpRequest(`${app.url}/api/media`, {
        method: 'POST',
        headers: { cookie: workspace.cookie, 'x-tenant-id': workspace.tenantId, 'content-length': 1000 },
      })
      request.on('error', () => undefined)
      request.write('x')
      return request
    })
    await waitUntil(async () => (await listFiles(app.dataDir, 'media/incoming')).length === requests.length)
    const refused = await upload(buildPng())
    expect(refused.status).to.equal(503)
    expect(refused.body.code).to.equal('unavailable')
    expect(refused.headers.get('retry-after')).to.equal('5')
    expect((await upload(buildPng(), '', await buildWorkspace(app))).status).to.equal(201)
    for (const request of requests) request.destroy()
    await waitUntil(async () => (await upload(buildPng())).status === 201)
  })

  it('is accepted while workspaces of one IPv6 network upload as much at once as they may', async () => {
    const attackers = await Promise.all(Array.from({ length: 5 }, () => buildWorkspace(app)))
    let refused = 0
    const requests = attackers.flatMap((attacker, index) =>
      Array.from({ length: 4 }, (_, part) => {
        const request = httpRequest(`${app.url}/api/media`, {
          method: 'POST',
          headers: {
            cookie: attacker.cookie,
            'x-tenant-id': attacker.tenantId,
            'x-forwarded-for': `2001:db8:3:${index}${part}::1`,
            'content-length': 1000,
          },
        })
        request.on('error', () => undefined)
        request.on('response', ({ statusCode }) => (refused += statusCode === 503 ? 1 : 0))
        request.write('x')
        return request
      }),
    )
    const countFiles = async () => (await listFiles(app.dataDir, 'media/incoming')).length
    await waitUntil(async () => (await countFiles()) + refused === requests.length)
    expect(refused).to.be.at.least(1)
    expect((await upload(buildPng())).status).to.equal(201)
    for (const request of requests) request.destroy()
    await waitUntil(async () => (await countFiles()) === 0)
  })

  it('leaves nothing when the upload is cut off', async () => {
    await rawUpload({ length: 2 * MB, chunks: [buildPng(MB)], isCutOff: true }).catch(() => undefined)
    await waitUntil(async () => (await listFiles(app.dataDir, 'media/incoming')).length === 0)
    expect(await app.system.db('media').where('tenant_id', workspace.tenantId)).to.deep.equal([])
  })

  /** Uploads chunk by chunk and returns the status of the response. */
  function rawUpload({
    length,
    chunks,
    isCutOff = false,
  }: {
    length: number | undefined
    chunks: Buffer[]
    isCutOff?: boolean
  }) {
    return new Promise<number>((resolve, reject) => {
      const { cookie, tenantId } = workspace
      const headers = {
        cookie,
        'x-tenant-id': tenantId,
        'x-forwarded-for': newAddress(),
        ...(length === undefined ? {} : { 'content-length': length }),
      }
      const request = httpRequest(`${app.url}/api/media`, { method: 'POST', headers }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
        request.destroy()
      })
      request.on('error', reject)
      for (const chunk of chunks) request.write(chunk)
      if (isCutOff) setTimeout(() => request.destroy(new Error('cut off')), 50)
      else request.end()
    })
  }

  it('is listed with the others by time, page by page, with their size in all', async () => {
    const ids: string[] = []
    for (const content of ['one', 'two', 'three']) ids.push((await upload(content)).body.id)
    const read = (query: string) => workspace.call('GET', `/api/media?${query}`)
    const first = await read('sort=createdAt&limit=2')
    const second = await read(`sort=createdAt&limit=2&cursor=${first.nextCursor}`)
    const toIds = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id)
    expect([...toIds(first), ...toIds(second)]).to.deep.equal(ids)
    expect(toIds(await read(''))).to.deep.equal(ids.toReversed())
    expect(toIds(await read('offset=1&limit=1'))).to.deep.equal([ids[1]])
    expect(first).to.include({ total: 3, storedBytes: 3 * 4096, storedBytesMax: 20 * 1024 * MB })
    expect(first.items[0].url).to.match(new RegExp(`^/media/${workspace.tenantId}/${ids[0]}\\?expires=`))
  })
})
