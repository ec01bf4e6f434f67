import { expect } from 'chai'
import { retryWebhooks } from '../../../src/features/inbound/retry-webhooks.ts'
import { purgeWebhooks } from '../../../src/features/provider-webhooks/keep-webhooks.ts'
import { DAY, SECOND } from '../../../src/platform/time.ts'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { buildCloudApiChannel, buildMember, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { listWebhooks } from '../../support/signed-webhook.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('kept webhook calls', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channel: ApiResponse['body']

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channel = await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())

  function text(from: string, body: string) {
    const timestamp = String(Math.floor(app.clock.now().getTime() / 1000))
    return { from, id: newWamid(), timestamp, type: 'text', text: { body } }
  }

  async function listBodies(): Promise<string[]> {
    const rows = await app.system.db('messages').where('tenant_id', workspace.tenantId).orderBy('id').select('body')
    return rows.map(({ body }: { body: string }) => body)
  }

  const path = (webhookId: string) => `/api/channels/${channel.id}/webhooks/${webhookId}`

  /** Lets the database reject messages whose body is `poison`, until `repair` is called. */
  async function rejectPoison(): Promise<{ repair(): Promise<void> }> {
    await app.system.db.raw(`alter table messages add constraint poison check (body <> 'poison') not valid`)
    return {
      async repair() {
        await app.system.db.raw('alter table messages drop constraint poison')
      },
    }
  }

  it('have the body as it arrived and what was found in it', async () => {
    const body = cloud.webhooks.envelope({ contacts: [], messages: [text('15550008001', 'Olá'), null] })
    expect(await cloud.webhooks.post(body)).to.equal(200)
    const [kept, ...others] = await listWebhooks(workspace, channel)
    expect(others).to.deep.equal([])
    expect(kept).to.deep.include({ status: 'processed', error: null, attempts: 1, bytes: Buffer.byteLength(body) })
    expect(kept.counts).to.include({ messages: 1, statuses: 0, ignored: 1 })
    expect((await workspace.call('GET', path(kept.id))).body).to.equal(body)
  })

  it('are kept once when the provider repeats a call', async () => {
    const body = cloud.webhooks.envelope({ messages: [text('15550008002', 'hi')] })
    await Promise.all([1, 2, 3].map(() => cloud.webhooks.post(body)))
    await cloud.webhooks.post(body)
    expect(await listWebhooks(workspace, channel)).to.have.length(1)
    expect(await listBodies()).to.deep.equal(['hi'])
  })

  it('are kept for statuses and for calls of which nothing is known', async () => {
    await cloud.webhooks.sendStatuses([{ wamid: newWamid(), status: 'read' }])
    await cloud.webhooks.post(cloud.webhooks.accountEnvelope('flows', { event: 'FLOW_STATUS_CHANGE' }))
    const kept = await listWebhooks(workspace, channel)
    expect(kept.map(({ counts }) => counts.statuses)).to.have.members([0, 1])
  })

  it('name unknown fields, types, statuses and keys', async () => {
    const message = { ...text('15550008003', 'hi'), color: 'red' }
    const hologram = { ...text('15550008003', ''), type: 'hologram', hologram: {} }
    const statuses = [{ id: 'wamid.1', status: 'warning', timestamp: '1' }]
    await cloud.webhooks.post(cloud.webhooks.envelope({ messages: [message, hologram], statuses, calls: [] }))
    const [kept] = await listWebhooks(workspace, channel)
    expect(kept.unknown).to.have.members([
      'message.color',
      'message:hologram',
      'message.text',
      'status:warning',
      'value.calls',
    ])
    await cloud.webhooks.post(cloud.webhooks.accountEnvelope('flows', {}))
    expect((await listWebhooks(workspace, channel)).flatMap(({ unknown }) => unknown)).to.include('field:flows')
  })

  it('are kept with the reason when they are not JSON', async () => {
    expect(await cloud.webhooks.post('{"entry":')).to.equal(400)
    const [kept] = await listWebhooks(workspace, channel, '?status=rejected')
    expect(kept).to.deep.include({ status: 'rejected', counts: {}, nextAttemptAt: null })
    expect(kept.error.code).to.equal('invalid_json')
  })

  it('are not kept without a valid signature', async () => {
    expect(await cloud.webhooks.post('{}', 'sha256=00')).to.equal(401)
    expect(await listWebhooks(workspace, channel)).to.deep.equal([])
  })

  it('are listed in pages, newest first', async () => {
    for (const body of ['one', 'two', 'three']) {
      await cloud.webhooks.sendText({ from: '15550008004', body })
      app.clock.advance(SECOND)
    }
    const page = await workspace.call('GET', `/api/channels/${channel.id}/webhooks?limit=2`)
    const rest = await workspace.call('GET', `/api/channels/${channel.id}/webhooks?cursor=${page.nextCursor}`)
    expect(rest.nextCursor).to.equal(undefined)
    const times = [...page.items, ...rest.items].map(({ createdAt }) => createdAt)
    expect(times).to.deep.equal(times.toSorted().toReversed())
    expect(new Set(times).size).to.equal(3)
  })

  it('are visible to admins only', async () => {
    const agent = await buildMember(workspace, 'agent')
    expect((await agent.request('GET', `/api/channels/${channel.id}/webhooks`)).status).to.equal(403)
  })

  describe('that cannot be processed because of an internal error', () => {
    let repair: () => Promise<void>

    beforeEach(async () => {
      ;({ repair } = await rejectPoison())
    })

    afterEach(() => repair().catch(() => undefined))

    const post = () =>
      cloud.webhooks.post(
        cloud.webhooks.envelope({
          messages: [text('15550008005', 'before'), text('15550008006', 'poison'), text('15550008007', 'after')],
        }),
      )

    it('are answered 200, and their other parts are stored', async () => {
      expect(await post()).to.equal(200)
      expect(await listBodies()).to.deep.equal(['before', 'after'])
      const [kept] = await listWebhooks(workspace, channel, '?status=pending')
      expect(kept.counts.messages).to.equal(3)
      expect(kept.error.message).to.match(/23514/)
    })

    it('are processed in the background when the cause is repaired', async () => {
      await post()
      await retryWebhooks(app.system)
      expect((await listWebhooks(workspace, channel))[0]).to.include({ status: 'pending', attempts: 1 })
      app.clock.advance(5 * SECOND)
      await retryWebhooks(app.system)
      expect((await listWebhooks(workspace, channel))[0]).to.include({ status: 'pending', attempts: 2 })
      await repair()
      app.clock.advance(15 * SECOND)
      await Promise.all([retryWebhooks(app.system), retryWebhooks(app.system)])
      const [kept] = await listWebhooks(workspace, channel)
      expect(kept).to.deep.include({ status: 'processed', attempts: 3, error: null, nextAttemptAt: null })
      expect(await listBodies()).to.have.members(['before', 'poison', 'after'])
    })

    it('fail after five attempts, and can be reprocessed', async () => {
      await post()
      for (const seconds of [5, 15, 45, 135]) {
        app.clock.advance(seconds * SECOND)
        await retryWebhooks(app.system)
      }
      const [failed] = await listWebhooks(workspace, channel, '?status=failed')
      expect(failed).to.include({ attempts: 5, nextAttemptAt: null })
      expect((await workspace.call('POST', `${path(failed.id)}/reprocess`)).status).to.equal('failed')
      await repair()
      expect((await workspace.call('POST', `${path(failed.id)}/reprocess`)).status).to.equal('processed')
      expect(await listBodies()).to.have.members(['before', 'poison', 'after'])
    })

    it('are attempted until they are processed while their failures are transient', async () => {
      await post()
      await repair()
      await app.system.db.raw(`create function lock_out() returns boolean language plpgsql as
        $$ begin raise exception 'no lock' using errcode = '55P03'; end $$`)
      await app.system.db.raw(
        "alter table messages add constraint lock_out check (body is distinct from 'poison' or lock_out()) not valid",
      )
      for (const seconds of [5, 15, 45, 135, 135, 135]) {
        app.clock.advance(seconds * SECOND)
        await retryWebhooks(app.system)
        expect((await listWebhooks(workspace, channel))[0]).to.include({ status: 'pending' })
      }
      await app.system.db.raw('alter table messages drop constraint lock_out')
      app.clock.advance(135 * SECOND)
      await retryWebhooks(app.system)
      expect((await listWebhooks(workspace, channel))[0]).to.include({ status: 'processed', attempts: 8 })
      expect(await listBodies()).to.have.members(['before', 'poison', 'after'])
    })

    it('are processed when the provider repeats the call', async () => {
      const body = cloud.webhooks.envelope({ messages: [text('15550008008', 'poison')] })
      expect(await cloud.webhooks.post(body)).to.equal(200)
      await repair()
      expect(await cloud.webhooks.post(body)).to.equal(200)
      expect((await listWebhooks(workspace, channel))[0]).to.include({ status: 'processed', nextAttemptAt: null })
    })
  })

  it('are not stored twice when they are reprocessed', async () => {
    await cloud.webhooks.sendText({ from: '15550008009', body: 'once' })
    const [kept] = await listWebhooks(workspace, channel)
    expect((await workspace.call('POST', `${path(kept.id)}/reprocess`)).status).to.equal('processed')
    expect(await listBodies()).to.deep.equal(['once'])
  })

  it('are deleted after seven days', async () => {
    await cloud.webhooks.sendText({ from: '15550008010', body: 'old' })
    app.clock.advance(6 * DAY)
    await cloud.webhooks.sendText({ from: '15550008010', body: 'new' })
    app.clock.advance(DAY + SECOND)
    await purgeWebhooks(app.system)
    const rows = await app.system.db('channel_webhooks').where('tenant_id', workspace.tenantId).select('id')
    expect(rows).to.have.length(1)
  })
})
