import { expect } from 'chai'
import { purgeDeletedMessageIds } from '../../../src/features/retention/purge-rows.ts'
import { addMs, DAY } from '../../../src/platform/time.ts'
import { type AcceptedSend, FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANSWER = {
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Answer to {{message.body}}' } }],
}
const FROM = '15550009001'

describe('webhook that is repeated after its contact was deleted', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ANSWER)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    cloud.statuses = []
    await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())

  async function receive(wamid: string, body = 'hi', { webhooks } = cloud): Promise<void> {
    expect(await webhooks.sendText({ from: FROM, body, wamid })).to.include({ status: 200 })
    await app.work()
  }

  const listContacts = async (client = workspace) => (await client.call('GET', '/api/contacts')).items
  const listAnswers = (provider = cloud) =>
    provider.accepted.map(({ payload }) => (payload['text'] as { body: string }).body)

  async function deleteContact(): Promise<void> {
    const [{ id }] = await listContacts()
    await workspace.call('DELETE', `/api/contacts/${id}`)
  }

  it('creates nothing and is not answered again', async () => {
    const wamid = newWamid()
    await receive(wamid)
    await deleteContact()
    await receive(wamid)
    expect(listAnswers()).to.deep.equal(['Answer to hi'])
    expect(await listContacts()).to.deep.equal([])
    expect((await workspace.call('GET', '/api/conversations')).items).to.deep.equal([])
  })

  it('is not answered again a week later', async () => {
    const wamid = newWamid()
    await receive(wamid)
    await deleteContact()
    app.clock.advance(7 * DAY)
    await purgeDeletedMessageIds(app.system)
    await receive(wamid)
    expect(listAnswers()).to.deep.equal(['Answer to hi'])
  })

  it('is not answered again if the history was deleted in several transactions', async () => {
    const wamid = newWamid()
    await receive(wamid)
    const { portions } = app.system
    const { historyStep } = portions
    portions.historyStep = 1
    await deleteContact().finally(() => (portions.historyStep = historyStep))
    await receive(wamid)
    expect(listAnswers()).to.deep.equal(['Answer to hi'])
    expect(await listContacts()).to.deep.equal([])
  })

  it('changes nothing for a person who has written again since', async () => {
    const wamid = newWamid()
    await receive(wamid, 'first')
    await deleteContact()
    await receive(newWamid(), 'second')
    await receive(wamid, 'first')
    expect(listAnswers()).to.deep.equal(['Answer to first', 'Answer to second'])
    const [conversation] = (await workspace.call('GET', '/api/conversations')).items
    expect(conversation).to.include({ unreadCount: 1 })
  })

  it('is left out of a call that also has a new message of the person', async () => {
    const wamid = newWamid()
    await receive(wamid, 'first')
    await deleteContact()
    const timestamp = String(app.clock.now().getTime() / 1000)
    const toMessage = (id: string, body: string) => ({ from: FROM, id, type: 'text', text: { body }, timestamp })
    const messages = [toMessage(wamid, 'first'), toMessage(newWamid(), 'second')]
    expect(await cloud.webhooks.post(cloud.webhooks.envelope({ messages }))).to.equal(200)
    await app.work()
    expect(listAnswers()).to.deep.equal(['Answer to first', 'Answer to second'])
  })

  it('opens no conversation with a contact that was created again by the API', async () => {
    const wamid = newWamid()
    await receive(wamid)
    await deleteContact()
    await workspace.call('POST', '/api/contacts', { name: 'Ana', phone: `+${FROM}` })
    await receive(wamid)
    expect((await workspace.call('GET', '/api/conversations')).items).to.deep.equal([])
  })

  it('is not answered again when it arrives during the deletion', async () => {
    const wamid = newWamid()
    await receive(wamid)
    const [{ id }] = await listContacts()
    const lock = await app.system.db.transaction()
    await lock.raw('select 1 from contacts where tenant_id = ? and id = ? for update', [workspace.tenantId, id])
    const deletion = workspace.call('DELETE', `/api/contacts/${id}`)
    await waitUntil(async () => (await countLockWaits(app)) === 1)
    const repeat = cloud.webhooks.sendText({ from: FROM, body: 'hi', wamid })
    await waitUntil(async () => (await countLockWaits(app)) === 2)
    await lock.commit()
    await deletion
    expect(await repeat).to.include({ status: 200 })
    await app.work()
    expect(listAnswers()).to.deep.equal(['Answer to hi'])
    expect(await listContacts()).to.deep.equal([])
  })

  it('changes nothing when it echoes or reports a message', async () => {
    const wamid = newWamid()
    const echo = { to: FROM, body: 'from the app', wamid }
    await receive(newWamid())
    await cloud.webhooks.sendEcho(echo)
    await deleteContact()
    expect(await cloud.webhooks.sendEcho(echo)).to.include({ status: 200 })
    const [sent] = cloud.accepted as [AcceptedSend]
    expect(await cloud.webhooks.sendStatuses([{ wamid: sent.wamid, status: 'read' }])).to.equal(200)
    expect(await listContacts()).to.deep.equal([])
  })

  it('is new on the channel of another workspace', async () => {
    const wamid = newWamid()
    await receive(wamid)
    await deleteContact()
    const other = await buildWorkspace(app)
    await buildWorkflow(other, ANSWER)
    const otherCloud = await FakeCloudApi.start({ clock: app.clock })
    try {
      await buildCloudApiChannel(other, otherCloud)
      await receive(wamid, 'hi', otherCloud)
      expect(listAnswers(otherCloud)).to.deep.equal(['Answer to hi'])
      expect(await listContacts(other)).to.have.lengthOf(1)
    } finally {
      await otherCloud.stop()
    }
  })

  it('is recognized without personal data, which is deleted when the provider repeats it no more', async () => {
    const wamid = newWamid()
    await receive(wamid)
    await deleteContact()
    const select = () => app.system.db('deleted_message_ids').where('tenant_id', workspace.tenantId)
    // The message and its answer.
    const rows = await select()
    expect(rows).to.have.lengthOf(2)
    expect(Object.keys(rows[0])).to.have.members(['tenant_id', 'hash', 'expires_at'])
    expect(rows.map(({ hash }: { hash: Buffer }) => hash.length)).to.deep.equal([32, 32])
    app.clock.advance(9 * DAY)
    await purgeDeletedMessageIds(app.system)
    expect(await select()).to.deep.equal([])
  })

  it('keeps nothing of messages that are too old to be repeated', async () => {
    await receive(newWamid())
    const { tenantId } = workspace
    const { db } = app.system
    await db('provider_message_ids')
      .where('tenant_id', tenantId)
      .update('created_at', addMs(app.clock.now(), -9 * DAY))
    await deleteContact()
    expect(await db('deleted_message_ids').where('tenant_id', tenantId)).to.deep.equal([])
  })
})
