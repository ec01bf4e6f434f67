import { expect } from 'chai'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { measureCpu } from '../../support/cpu.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('requests with many names', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  it('cost no more per name when a body has eight times as many', async () => {
    const validate = (names: number) => async () => {
      const body = Object.fromEntries(Array.from({ length: names }, (_, name) => [`n${name}`, 1]))
      const { status } = await workspace.request('POST', '/api/workflows/validate', body)
      expect(status).to.equal(400)
    }
    await validate(10_000)()
    const cost = await measureCpu(validate(10_000))
    expect(await measureCpu(validate(80_000))).to.be.lessThan(16 * cost + 50)
  })

  it('are refused when a query has more than 100 parameters', async () => {
    const query = (count: number) => `/api/contacts?${Array.from({ length: count }, () => 'q=a').join('&')}`
    const { status, body } = await workspace.request('GET', query(101))
    expect(status).to.equal(400)
    expect(body.error).to.equal('The query has 101 parameters. Send at most 100')
    expect((await workspace.request('GET', query(100))).body.error).to.equal('q must be a string')
  })

  it('are refused before a body with millions of values is parsed', async () => {
    const tooMany = `{"definition":[${'1,'.repeat(500_000)}1]}`
    const post = async () => {
      const { body } = await workspace.request('POST', '/api/workflows/validate', tooMany)
      expect(body.code).to.equal('input_too_complex')
    }
    expect(await measureCpu(post)).to.be.lessThan(50)
  })
})
