import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { startTestApp } from '../../support/app.ts'

const STEP = { id: 'call', type: 'http', saveAs: 'vars.answer' }

/** Publishes a workflow that calls the address, and says what came of it. */
async function publish(environment: Record<string, string>, url: string) {
  const app = await startTestApp(environment)
  try {
    const session = await app.signUp()
    const send = (path: string, body: object) => app.rest('POST', `/api${path}`, { session, body })
    const definition = { version: 1, triggers: [{ type: 'api' }], steps: [{ ...STEP, url }] }
    const { body: workflow } = await send('/workflows', { name: 'W', definition })
    const published = await send(`/workflows/${workflow.id}/publish`, {})
    if (published.status !== 200) return { refused: published.body.details.map(({ code }: { code: string }) => code) }
    const simulated = await send(`/workflows/${workflow.id}/simulate`, { stepOutputs: { call: { status: 204 } } })
    expect(simulated.status).to.equal(200)
    const run = await send(`/workflows/${workflow.id}/runs`, {})
    await app.work()
    const { body } = await app.rest('GET', `/api/runs/${run.body.id}`, { session })
    return { status: body.variables.answer?.status, error: body.error }
  } finally {
    await app.stop()
  }
}

describe('an http step that names this very machine', () => {
  const server = createServer((_request, response) => void response.end('here'))
  let port: number

  before(async () => {
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })

  after(() => server.close())

  it('is refused when it is published', async () => {
    expect(await publish({}, 'http://127.0.0.1/x')).to.deep.equal({ refused: ['private_host'] })
  })

  it('is published and works with ALLOW_LOOPBACK_CHANNELS', async () => {
    const told = await publish({ ALLOW_LOOPBACK_CHANNELS: 'true' }, `http://127.0.0.1:${port}/x`)
    expect(told).to.deep.equal({ status: 200, error: null })
  })

  it('is refused even then where it is another machine of a private network', async () => {
    const told = await publish({ ALLOW_LOOPBACK_CHANNELS: 'true' }, 'http://10.0.0.1/x')
    expect(told).to.deep.equal({ refused: ['private_host'] })
  })
})
