import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import Koa, { type Middleware } from 'koa'
import { ApiRoutes } from '../../../src/http/api-routes.ts'
import { errorBodies } from '../../../src/http/errors.ts'
import { createLogger } from '../../../src/platform/log.ts'

describe('routes below /api', () => {
  const routes = new ApiRoutes()
  routes.add('GET', '/api/things', answer('list'))
  routes.add('POST', '/api/things', answer('create'))
  routes.add('GET', '/api/things/recent', answer('recent'))
  routes.add('GET', '/api/things/{thingId}', answer('get'))
  routes.add('DELETE', '/api/things/{id}', answer('delete'))
  routes.add('POST', '/api/things/recent/clear', answer('clear'))
  routes.add('GET', '/api/things/{thingId}/parts/{partId}', answer('part'))
  routes.add('GET', '/api/things-of-others', answer('others'))
  const koa = new Koa()
  koa.use(errorBodies(createLogger('silent')))
  koa.use(routes.middleware())
  const server = createServer(koa.callback())
  let url = ''

  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  after(() => server.close())

  function answer(name: string): Middleware {
    return (ctx) => {
      ctx.body = { name, params: ctx['params'] }
    }
  }

  async function get(method: string, path: string): Promise<unknown> {
    return (await fetch(url + path, { method })).json()
  }

  async function listAllowed(method: string, path: string) {
    const { status, headers } = await fetch(url + path, { method })
    return { status, allow: headers.get('allow')?.split(', ').sort() }
  }

  it('give the parameters under the names of the matched route', async () => {
    expect(await get('GET', '/api/things/1')).to.deep.equal({ name: 'get', params: { thingId: '1' } })
    expect(await get('DELETE', '/api/things/1')).to.deep.equal({ name: 'delete', params: { id: '1' } })
    const part = { name: 'part', params: { thingId: '1', partId: '2' } }
    expect(await get('GET', '/api/things/1/parts/2')).to.deep.equal(part)
  })

  it('answer with the route added first, and with parameters where fixed segments lead nowhere', async () => {
    expect(await get('GET', '/api/things/recent')).to.deep.equal({ name: 'recent', params: {} })
    expect(await get('DELETE', '/api/things/recent')).to.deep.equal({ name: 'delete', params: { id: 'recent' } })
    const part = { name: 'part', params: { thingId: 'recent', partId: '2' } }
    expect(await get('GET', '/api/things/recent/parts/2')).to.deep.equal(part)
  })

  it('take HEAD where they take GET', async () => {
    expect((await fetch(`${url}/api/things`, { method: 'HEAD' })).status).to.equal(200)
  })

  it('answer 405 with the methods of a path that does not take the method of the request', async () => {
    expect(await listAllowed('PUT', '/api/things')).to.deep.equal({ status: 405, allow: ['GET', 'HEAD', 'POST'] })
    expect(await listAllowed('PATCH', '/api/things/1')).to.deep.equal({ status: 405, allow: ['DELETE', 'GET', 'HEAD'] })
    expect(await listAllowed('OPTIONS', '/api/things-of-others')).to.deep.equal({ status: 405, allow: ['GET', 'HEAD'] })
  })

  for (const path of [
    '/',
    '/api',
    '/api/things/',
    '/api/things/1/parts',
    '/api/things/1/parts/',
    '/API/things',
    '/api/thing',
  ]) {
    it(`answer 404 for the path ${path}`, async () => {
      expect((await fetch(url + path)).status).to.equal(404)
    })
  }
})
