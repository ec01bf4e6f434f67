import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp } from '../../support/app.ts'

const STEP = { id: 'call', type: 'http', saveAs: 'vars.answer' }

/** Publishes a workflow that requests the URL; returns the publish errors or the result of a run. */
async function publishAndRun(environment: Record<string, string>, url: string) {
  const app = await startTestApp(environment)
  try {
    const workspace = await buildWorkspace(app)
    const definition = { triggers: [{ type: 'api' }], steps: [{ ...STEP, url }] }
    const workflow = await buildWorkflow(workspace, definition, { publish: false })
    const path = `/api/workflows/${workflow.id}`
    const { status, body } = await workspace.request('POST', `${path}/publish`, {})
    if (status !== 200) return { errors: body.details.map(({ code }: { code: string }) => code) }
    await workspace.call('POST', `${path}/simulate`, { stepOutputs: { call: { status: 204 } } })
    const { id } = await workspace.call('POST', `${path}/runs`, {})
    await app.work()
    const run = await workspace.call('GET', `/api/runs/${id}`)
    return { status: run.variables.answer?.status, error: run.error }
  } finally {
    await app.stop()
  }
}

describe('http step with a loopback URL', () => {
  const server = createServer((_request, response) => void response.end('here'))
  let port: number

  before(async () => {
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })

  after(() => server.close())

  it('is rejected at publish with host_refused', async () => {
    expect(await publishAndRun({}, 'http://127.0.0.1/x')).to.deep.equal({ errors: ['host_refused'] })
  })

  it('is published and completes with ALLOW_LOOPBACK_CHANNELS', async () => {
    const result = await publishAndRun({ ALLOW_LOOPBACK_CHANNELS: 'true' }, `http://127.0.0.1:${port}/x`)
    expect(result).to.deep.equal({ status: 200, error: null })
  })

  it('is rejected with ALLOW_LOOPBACK_CHANNELS when its address is another one of a private network', async () => {
    const result = await publishAndRun({ ALLOW_LOOPBACK_CHANNELS: 'true' }, 'http://10.0.0.1/x')
    expect(result).to.deep.equal({ errors: ['host_refused'] })
  })
})
