import { expect } from 'chai'
import { reconcileOutbox } from '../../../src/features/outbound/reconcile-outbox.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { FakeCloudApi } from '../../support/fake-cloud-api.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ANSWER = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Hello' } }],
}

describe('a message of which nobody knows whether it arrived', () => {
  let app: TestApp
  let owner: TestSession
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    owner = await app.signUp()
    const definition = { name: 'Answer', definition: ANSWER }
    const { body } = await app.rest('POST', '/api/workflows', { session: owner, body: definition })
    await app.rest('POST', `/api/workflows/${body.id}/publish`, { session: owner, body: {} })
  })

  after(() => app.stop())

  beforeEach(async () => {
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const settings = { kind: 'whatsapp', name: 'Support', ...cloud.settings, ...cloud.credentials }
    const { body } = await app.rest('POST', '/api/channels', { session: owner, body: settings })
    cloud.webhooks.callbackUrl = app.url + body.webhookPath
  })

  afterEach(() => cloud.stop())

  const sent = () => cloud.accepted[0]?.callbackData ?? ''

  /** What the message came to, in order. */
  async function told(): Promise<string[]> {
    const events = await app.system
      .db('events')
      .whereRaw(`data ->> 'messageId' = ?`, [sent()])
      .orderBy('id')
      .select<{ type: string }[]>('type')
    return events.map(({ type }) => type)
  }

  it('is told of once, however many processes find it at once', async () => {
    cloud.loseNext('hang')
    await cloud.webhooks.receiveText({ from: '15550002001', body: 'hi' })
    await cloud.whenAccepted(1)
    app.clock.advance(121_000)
    await Promise.all(Array.from({ length: 5 }, () => reconcileOutbox(app.system)))
    expect(await told()).to.deep.equal(['message.queued', 'message.failed'])
    const { body } = await app.rest('GET', `/api/messages/${sent()}/explanation`, { session: owner })
    expect(body.summary).to.equal('Sent by step "answer" of the workflow "Answer", version 1')
    expect(body.links.at(-1)).to.deep.include({ kind: 'status', status: 'failed' })
    expect(body.links.at(-1).error.code).to.equal('delivery_unknown')
  })

  it('is not said to have failed when its status came before the connection broke', async () => {
    cloud.isAhead = true
    cloud.statuses = ['delivered']
    cloud.loseNext('reset')
    await cloud.webhooks.receiveText({ from: '15550002002', body: 'hi' })
    await app.work()
    expect(await told()).to.deep.equal(['message.queued', 'message.delivered'])
  })

  it('is in no doubt if its process tells at that moment that it has to be sent again', async () => {
    cloud.loseNext('hang')
    await cloud.webhooks.receiveText({ from: '15550002003', body: 'hi' })
    await cloud.whenAccepted(1)
    app.clock.advance(121_000)
    const { db } = app.system
    const settling = await db.transaction()
    await settling('messages').where('id', sent()).update({ status: 'queued' })
    await settling('outbox')
      .where('message_id', sent())
      .update({ leased_at: null, not_before: new Date(app.clock.now().getTime() + 60_000) })
    const sweeping = reconcileOutbox(app.system)
    await waitUntil(async () => {
      const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return (await db.raw<{ rows: unknown[] }>(waiting)).rows.length > 0
    })
    await settling.commit()
    await sweeping
    expect(await told()).to.deep.equal(['message.queued'])
    expect(await db('outbox').where('message_id', sent())).to.have.length(1)
  })
})
