import { hostname } from 'node:os'
import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { VERSION } from '../../../src/http/version.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { pause } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const INFO = 30
const NAP = [{ type: 'message_received', match: { mode: 'exact', values: ['nap'] } }]

describe('lines of the log', function () {
  this.timeout(120_000)
  let app: TestApp
  let cloud: FakeCloudApi
  let workspace: WorkspaceClient
  let processes: ParleyProcess[]

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' }, systemClock)
    cloud = await FakeCloudApi.start()
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { triggers: NAP, steps: [pause('rest', { for: '2s' })] })
  })

  beforeEach(() => {
    processes = []
  })

  afterEach(() => Promise.all(processes.map((process) => process.kill())))

  after(async () => {
    await cloud?.stop()
    await app?.stop()
  })

  async function start(ROLES: string, LOG_LEVEL: string): Promise<ParleyProcess> {
    const settings = { DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir, ALLOW_LOOPBACK_CHANNELS: 'true' }
    const process = await startParleyProcess({ ...settings, ROLES, LOG_LEVEL })
    processes.push(process)
    return process
  }

  /** Waits for the line with these fields. */
  async function findLine({ lines }: ParleyProcess, fields: Record<string, unknown>): Promise<Record<string, unknown>> {
    const find = () => lines.find((line) => Object.entries(fields).every(([name, value]) => line[name] === value))
    await waitUntil(() => find() !== undefined)
    return find() ?? {}
  }

  it('name the process, its role and its version', async () => {
    for (const [roles, role] of Object.entries({ http: 'http', worker: 'worker', 'http,worker': 'both' })) {
      const started = await start(roles, 'info')
      if (started.url) await fetch(`${started.url}/openapi.json`)
      else await breakRun()
      await waitUntil(() => started.lines.length > 0)
      const names = { process: `${hostname()}:${started.pid}`, role, version: VERSION }
      for (const line of started.lines) expect(line).to.include(names)
    }
  })

  it('of requests and of webhooks name the workspace, and those of nobody name none', async () => {
    const http = await start('http', 'info')
    const { webhookPath } = await buildCloudApiChannel(workspace, cloud)
    await fetch(`${http.url}/api/contacts`, {
      headers: { cookie: workspace.cookie, 'x-tenant-id': workspace.tenantId },
    })
    expect(await findLine(http, { path: '/api/contacts', status: 200 })).to.include({ tenantId: workspace.tenantId })
    await fetch(`${http.url}/api/contacts`, { headers: { 'x-tenant-id': workspace.tenantId } })
    expect(await findLine(http, { path: '/api/contacts', status: 401 })).not.to.have.property('tenantId')
    cloud.webhooks.callbackUrl = `${http.url}${webhookPath}`
    await cloud.webhooks.sendText({ from: '15550009020', body: 'hi' })
    expect(await findLine(http, { path: webhookPath })).to.include({ tenantId: workspace.tenantId, status: 200 })
  })

  it('of health checks are written at the level debug, and those of other requests at info', async () => {
    const http = await start('http', 'debug')
    for (const path of ['/healthz', '/readyz', '/openapi.json']) await fetch(`${http.url}${path}`)
    expect((await findLine(http, { path: '/healthz' }))['level']).to.be.lessThan(INFO)
    expect((await findLine(http, { path: '/readyz' }))['level']).to.be.lessThan(INFO)
    expect((await findLine(http, { msg: 'request answered', level: INFO }))['path']).to.equal('/openapi.json')
  })

  it('about a run that fails name its workspace and the run', async () => {
    const worker = await start('worker', 'warn')
    const runId = await breakRun()
    const line = await findLine(worker, { event: 'mailbox_failed', runId })
    expect(line).to.include({ tenantId: workspace.tenantId, role: 'worker' })
  })

  /** Damages a run while it waits, so that the worker cannot continue it. Returns its ID. */
  async function breakRun(): Promise<string> {
    const { conversationId } = await sendAsCustomer(workspace, { phone: newPhone(), body: 'nap' })
    const waiting = () => app.system.db('runs').where({ conversation_id: conversationId, status: 'waiting' })
    await waitUntil(async () => (await waiting()).length > 0)
    const [run] = await waiting()
      .update({ state: app.system.db.raw("state - 'visits'") })
      .returning<{ id: string }[]>('id')
    return run?.id ?? ''
  }
})
