import { expect } from 'chai'
import { type AcceptedSend, FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { addMs, MINUTE } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANA = '15550009001'

describe('consent that a customer changes at the provider', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channel: ApiResponse['body']

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    cloud.statuses = []
    channel = await buildCloudApiChannel(workspace, cloud)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
  })

  afterEach(() => cloud.stop())
  after(() => app.stop())

  async function readConsent(): Promise<ApiResponse['body']> {
    const { items } = await workspace.call('GET', `/api/contacts?phone=${encodeURIComponent(`+${ANA}`)}`)
    return workspace.call('GET', `/api/contacts/${items[0].id}/consent`)
  }

  const reportPreferences = (preferences: { value: string; at: Date }[]) =>
    cloud.webhooks.post(
      cloud.webhooks.envelope(
        {
          user_preferences: preferences.map(({ value, at }) => ({
            wa_id: ANA,
            category: 'marketing_messages',
            value,
            detail: 'Detail',
            timestamp: Math.floor(at.getTime() / 1000),
          })),
        },
        'user_preferences',
      ),
    )

  const reportPreference = (value: string, at = app.clock.now()) => reportPreferences([{ value, at }])

  it('writes preferences to the ledger, and a call that is delivered again writes nothing', async () => {
    await reportPreference('stop')
    await reportPreference('stop')
    const { marketing, service, items } = await readConsent()
    expect({ marketing, service }).to.deep.equal({ marketing: 'opted_out', service: 'unknown' })
    expect(items).to.have.length(1)
    expect(items[0]).to.deep.include({ source: 'provider', text: 'Detail', channelId: channel.id })
  })

  it('a preference that is older than the stored consent changes nothing', async () => {
    await reportPreference('resume')
    await reportPreference('stop', addMs(app.clock.now(), -MINUTE))
    const { marketing, total } = await readConsent()
    expect({ marketing, total }).to.deep.equal({ marketing: 'opted_in', total: 1 })
  })

  it('of several preferences of one call the last one that was chosen counts', async () => {
    const at = app.clock.now()
    await reportPreferences([
      { value: 'resume', at },
      { value: 'stop', at: addMs(at, -MINUTE) },
    ])
    const { items } = await readConsent()
    expect(items.map(({ state }: { state: string }) => state)).to.deep.equal(['opted_in', 'opted_out'])
    const [contact] = (await workspace.call('GET', '/api/contacts')).items
    expect(contact.consent.marketing).to.equal('opted_in')
  })

  it('a send that is refused with error 131050 opts the contact out of marketing', async () => {
    cloud.rejectNext(131050)
    await cloud.webhooks.sendText({ from: ANA, body: 'hi' })
    await app.work()
    const { marketing, items } = await readConsent()
    expect(marketing).to.equal('opted_out')
    expect(items[0]).to.deep.include({ source: 'provider', channelId: channel.id })
    expect(items[0].messageId).to.be.a('string')
  })

  it('a status with error 131050 opts the contact out of marketing, and an older one changes nothing', async () => {
    const { wamid, callbackData } = await sendAnswer()
    const reportFailure = () =>
      cloud.webhooks.sendStatuses([{ wamid, callbackData, status: 'failed', errorCode: 131050 }])
    expect(await reportFailure()).to.equal(200)
    const { contactId, ...consent } = await readConsent()
    expect(consent).to.include({ marketing: 'opted_out', total: 1 })
    app.clock.advance(MINUTE)
    await workspace.call('PATCH', `/api/contacts/${contactId}`, { consent: { marketing: 'opted_in' } })
    app.clock.advance(-MINUTE)
    await reportFailure()
    expect(await readConsent()).to.include({ marketing: 'opted_in', total: 2 })
  })

  it('a status with error 131050 that arrives before the response and without our ID opts the contact out', async () => {
    const failure = { callbackData: null, status: 'failed', errorCode: 131050 } as const
    cloud.beforeResponse = ({ wamid }) => cloud.webhooks.sendStatuses([{ wamid, ...failure }])
    await sendAnswer()
    const { marketing, items } = await readConsent()
    expect(marketing).to.equal('opted_out')
    expect(items[0]).to.deep.include({ source: 'provider', channelId: channel.id })
  })

  it('a status of another channel that arrives before the response opts nobody out', async () => {
    const other = await FakeCloudApi.start({ clock: app.clock })
    try {
      await buildCloudApiChannel(workspace, other)
      const failure = { callbackData: null, status: 'failed', errorCode: 131050 } as const
      cloud.beforeResponse = ({ wamid }) => other.webhooks.sendStatuses([{ wamid, ...failure }])
      await sendAnswer()
      expect(await readConsent()).to.include({ marketing: 'unknown', total: 0 })
    } finally {
      await other.stop()
    }
  })

  async function sendAnswer(): Promise<AcceptedSend> {
    await cloud.webhooks.sendText({ from: ANA, body: 'hi' })
    await app.work()
    return cloud.accepted[0] ?? expect.fail('nothing was sent')
  }
})
