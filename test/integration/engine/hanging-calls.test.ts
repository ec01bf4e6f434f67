import { expect } from 'chai'
import { newId } from '../../../src/platform/ids.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const WORKSPACES = 5
/** More than one workspace has places for. */
const CUSTOMERS = 25

describe('a host that does not answer the calls of several workspaces', function () {
  this.timeout(120_000)
  let app: TestApp
  let silent: ScriptedServer
  let server: ScriptedServer
  let ended = 0

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' }, systemClock)
    silent = await ScriptedServer.start()
    silent.replyWith((_, response) => void response.once('close', () => (ended += 1)))
    server = await ScriptedServer.start()
    server.replyWith(json({}))
  })

  after(async () => {
    await silent.stop()
    await server.stop()
    await app.stop()
  })

  async function buildCaller(url: string): Promise<WorkspaceClient> {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, {
      variables: { base: { type: 'string', default: url } },
      steps: [{ id: 'call', type: 'http', url: '{{vars.base}}/quote', timeout: '60s' }],
    })
    return workspace
  }

  it('does not delay those of others', async () => {
    for (let n = 0; n < WORKSPACES; n += 1) {
      const hanging = await buildCaller(silent.url)
      const before = silent.calls.length
      await Promise.all(
        Array.from({ length: CUSTOMERS }, () => sendAsCustomer(hanging, { phone: newPhone(), name: 'Ana' })),
      )
      await waitUntil(() => silent.calls.length > before)
    }
    await sendAsCustomer(await buildCaller(server.url))
    await waitUntil(() => server.calls.length > 0)
    expect(ended).to.equal(0)
  })

  it('does not occupy the job queue', async () => {
    const { db } = app.system
    const other = newId()
    await db('wakeups').insert(['execute', 'advance'].map((task) => ({ task, tenant_id: other, key: other })))
    await waitUntil(async () => (await db('wakeups').where('tenant_id', other)).length === 0)
    expect(ended).to.equal(0)
  })
})
