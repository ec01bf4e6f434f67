import { expect } from 'chai'
import { buildWorkflow, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { getRun } from '../../support/queries.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'

describe('an error that quotes the beginning of a text', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  it('fails its step when the text is cut within an emoji', async () => {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [{ id: 'until', type: 'wait', until: '{{message.body}}' }] })
    const body = `${'a'.repeat(99)}😀`
    await workspace.call('POST', '/api/sandbox/messages', { phone: newPhone(), body })
    await advanceMailboxes(app.system, { tenantId: workspace.tenantId })
    const { items } = await workspace.call('GET', '/api/runs')
    expect(items).to.have.length(1)
    const { status, error } = await getRun(workspace, items[0].id)
    expect(status).to.equal('failed')
    expect(error).to.include({
      code: 'invalid_date',
      message: `"${'a'.repeat(99)}\u{fffd}" is not a date such as 2026-03-31T09:00`,
    })
  })
})
