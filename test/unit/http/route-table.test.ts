import { expect } from 'chai'
import { RouteTable } from '../../../src/http/route-table.ts'

describe('RouteTable', () => {
  const table = new RouteTable<string>()
  table.add('GET', '/api/things', 'list')
  table.add('POST', '/api/things', 'create')
  table.add('GET', '/api/things/{thingId}', 'get')
  table.add('DELETE', '/api/things/{id}', 'delete')
  table.add('GET', '/api/things/recent', 'recent')
  table.add('POST', '/api/things/recent/clear', 'clear')
  table.add('GET', '/api/things/{thingId}/parts/{partId}', 'part')

  it('returns the parameters under the names of the matched route', () => {
    expect(table.match('GET', '/api/things/1')).to.deep.equal({ target: 'get', params: { thingId: '1' } })
    expect(table.match('DELETE', '/api/things/1')).to.deep.equal({ target: 'delete', params: { id: '1' } })
    const part = { target: 'part', params: { thingId: '1', partId: '2' } }
    expect(table.match('GET', '/api/things/1/parts/2')).to.deep.equal(part)
  })

  it('prefers fixed segments and returns to parameters where they lead nowhere', () => {
    expect(table.match('GET', '/api/things/recent')).to.deep.equal({ target: 'recent', params: {} })
    expect(table.match('DELETE', '/api/things/recent')).to.deep.equal({ target: 'delete', params: { id: 'recent' } })
    const part = { target: 'part', params: { thingId: 'recent', partId: '2' } }
    expect(table.match('GET', '/api/things/recent/parts/2')).to.deep.equal(part)
  })

  it('takes HEAD where it takes GET', () => {
    expect(table.match('HEAD', '/api/things')).to.deep.equal({ target: 'list', params: {} })
  })

  it('returns the methods of a path that does not take the method of the request', () => {
    expect(table.match('PUT', '/api/things')).to.deep.equal({ allowed: ['HEAD', 'GET', 'POST'] })
    expect(table.match('PATCH', '/api/things/1')).to.deep.equal({ allowed: ['HEAD', 'GET', 'DELETE'] })
  })

  for (const path of ['/', '/api', '/api/things/', '/api/things/1/parts', '/api/things/1/parts/', '/API/things', '']) {
    it(`finds nothing for the path "${path}"`, () => {
      expect(table.match('GET', path)).to.deep.equal({ allowed: [] })
    })
  }
})
