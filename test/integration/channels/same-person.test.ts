import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { buildContact, buildWorkflow, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel } from '../../support/broadcasts.ts'
import { getRun } from '../../support/queries.ts'
import { pause } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const USER_ID = 'US.4711'

describe('a person who is one contact by user ID and another one by phone number', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let phone: string
  let byPhone: string
  let byId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildBroadcastChannel(workspace, cloud)
    phone = newPhone()
    ;({ id: byPhone } = await buildContact(workspace, { phone }))
    await write({ userId: USER_ID }, 'hi')
    const { items } = await workspace.call('GET', '/api/contacts')
    byId = items.find(({ id }: { id: string }) => id !== byPhone).id
  })

  afterEach(() => cloud.stop())

  async function write(sender: { userId?: string; from?: string }, body: string): Promise<void> {
    app.clock.advance(2000)
    expect((await cloud.webhooks.sendText({ ...sender, body })).status).to.equal(200)
  }

  const advance = () => advanceMailboxes(app.system, { tenantId: workspace.tenantId })

  const writeWithBoth = (body: string) => write({ userId: USER_ID, from: phone.slice(1) }, body)

  async function readConsents(): Promise<string[]> {
    const contacts = await Promise.all(
      [byId, byPhone].map((id) => workspace.call('GET', `/api/contacts/${id}/consent`)),
    )
    return contacts.map(({ marketing }) => marketing)
  }

  it('is opted out as both once a message names both', async () => {
    await write({ userId: USER_ID }, 'STOP')
    expect(await readConsents()).to.deep.equal(['opted_out', 'unknown'])
    await writeWithBoth('hello')
    expect(await readConsents()).to.deep.equal(['opted_out', 'opted_out'])
    const template = { name: 'sale', language: 'en', params: { name: 'Ana' } }
    const { status, body } = await workspace.request('POST', '/api/messages', { to: { phone }, template })
    expect([status, body.code]).to.deep.equal([422, 'contact_opted_out'])
  })

  it('is opted out as both by a keyword whose message names both', async () => {
    await writeWithBoth('STOP')
    expect(await readConsents()).to.deep.equal(['opted_out', 'opted_out'])
  })

  it('is opted out as both if only the contact with the number was', async () => {
    await workspace.call('PATCH', `/api/contacts/${byPhone}`, { consent: { marketing: 'opted_out' } })
    await writeWithBoth('hello')
    expect(await readConsents()).to.deep.equal(['opted_out', 'opted_out'])
  })

  it('keeps a later opt-in', async () => {
    await writeWithBoth('STOP')
    await writeWithBoth('START')
    await writeWithBoth('hello')
    expect((await readConsents())[0]).to.equal('opted_in')
  })

  it('is blocked as both, and runs of both end', async () => {
    const workflow = await buildWorkflow(workspace, { triggers: [{ type: 'api' }], steps: [pause('rest')] })
    const run = await workspace.call('POST', `/api/workflows/${workflow.id}/runs`, { contactId: byPhone })
    await advance()
    expect((await getRun(workspace, run.id)).status).to.equal('waiting')
    await workspace.call('PATCH', `/api/contacts/${byId}`, { blocked: true })
    await writeWithBoth('hello')
    await advance()
    expect((await workspace.call('GET', `/api/contacts/${byPhone}`)).blocked).to.equal(true)
    expect((await getRun(workspace, run.id)).status).to.equal('canceled')
  })
})
