import { expect } from 'chai'
import { sendInvitations } from '../../../src/features/members/invitations/send-invitations.ts'
import { buildChannel, buildMember, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { listEmailsTo } from '../../support/mail.ts'
import { uploadText } from '../../support/media.ts'
import { postSigned } from '../../support/signed-webhook.ts'
import { WebhookCaller } from '../../support/webhook-caller.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const PATH = '/api/workspace'

describe('DELETE /api/workspace', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let name: string

  // Without a worker nothing is purged, so that rows which are left open no door.
  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    name = (await owner.call('GET', PATH)).name
  })

  after(() => app.stop())

  const requestDeletion = (member: WorkspaceClient, confirmation = name) =>
    member.request('DELETE', `${PATH}?name=${encodeURIComponent(confirmation)}`)
  const readDeletion = (member: WorkspaceClient, { tenantId }: WorkspaceClient = member) =>
    member.request('GET', `/api/workspaces/${tenantId}/deletion`)
  const createKey = async (): Promise<Record<string, string>> => {
    const { key } = await owner.call('POST', '/api/api-keys', { name: 'K', scopes: ['full'] })
    return { authorization: `Bearer ${key}` }
  }

  it('returns 202 with a receipt, which only those read who owned the workspace', async () => {
    const admin = await buildMember(owner, 'admin')
    const { status, body } = await requestDeletion(owner)
    expect(status).to.equal(202)
    const at = app.clock.now().toISOString()
    const receipt = { workspaceId: owner.tenantId, name, status: 'deleting', deletedBy: owner.userId, deletedAt: at }
    expect(body).to.deep.equal({ ...receipt, rows: {}, files: 0, startedAt: null, finishedAt: null })
    expect((await readDeletion(owner)).body).to.deep.equal(body)
    const others = [await readDeletion(admin), await readDeletion(await buildWorkspace(app), owner)]
    expect(others.map((answer) => answer.status)).to.deep.equal([404, 404])
  })

  it('deletes nothing for another name, other members, API keys and users of other workspaces', async () => {
    const outsider = new WorkspaceClient(app, { ...(await buildWorkspace(app)), tenantId: owner.tenantId })
    const members = [await buildMember(owner, 'admin'), await buildMember(owner, 'agent'), outsider]
    for (const confirmation of ['', name.toUpperCase(), `${name} `])
      expect((await requestDeletion(owner, confirmation)).body.code).to.equal('name_mismatch')
    expect((await owner.request('DELETE', PATH)).status).to.equal(400)
    for (const member of members) expect((await requestDeletion(member)).status).to.equal(403)
    const path = `${PATH}?name=${encodeURIComponent(name)}`
    expect((await app.rest('DELETE', path, { headers: await createKey() })).status).to.equal(403)
    expect((await readDeletion(owner)).status).to.equal(404)
    expect((await owner.request('GET', '/api/workspaces/not-a-uuid/deletion')).status).to.equal(404)
    expect((await owner.call('GET', PATH)).name).to.equal(name)
  })

  it('ends the access of members and API keys at once, and removes the workspace from lists', async () => {
    const agent = await buildMember(owner, 'agent')
    const headers = await createKey()
    expect((await app.rest('GET', '/api/contacts', { headers })).status).to.equal(200)
    expect((await agent.request('GET', '/api/contacts')).status).to.equal(200)
    await requestDeletion(owner)
    const calls = [owner.request('GET', PATH), agent.request('GET', '/api/contacts'), requestDeletion(owner)]
    expect((await Promise.all(calls)).map(({ status }) => status)).to.deep.equal([403, 403, 403])
    expect((await app.rest('GET', '/api/contacts', { headers })).status).to.equal(401)
    for (const member of [owner, agent]) {
      const { workspaces } = (await member.request('GET', '/api/auth/get-session')).body
      expect(workspaces.map(({ id }: { id: string }) => id)).to.not.include(owner.tenantId)
    }
  })

  it('ends open streams of members and API keys within a second', async () => {
    const { conversationId } = await sendAsCustomer(owner)
    const subscription = { procedure: 'conversations.follow', input: { conversationId } }
    const stream = await openEventStream<object>(app.url, await buildMember(owner, 'viewer'), subscription)
    const events = await fetch(`${app.url}/api/events/stream`, {
      headers: { ...(await createKey()), accept: 'text/event-stream' },
    })
    expect(events.status).to.equal(200)
    const startedMs = performance.now()
    await requestDeletion(owner)
    await stream.next().catch(() => undefined)
    await events.text()
    expect(performance.now() - startedMs).to.be.below(1000)
    expect(stream.error).to.include({ code: 'FORBIDDEN' })
  })

  it('answers webhooks of its channels and workflows, and addresses of its files, like unknown ones', async () => {
    const channel = await buildChannel(owner)
    const caller = new WebhookCaller(app, owner)
    const webhook = await caller.publishWithSecret()
    const media = await owner.call('GET', `/api/media/${await uploadText(owner)}`)
    const call = async () => [
      (await postSigned(owner, channel, '{}')).status,
      (await caller.callSigned(webhook, { order: 'A' })).status,
      (await fetch(new URL(media.url, app.url))).status,
    ]
    expect(await call()).to.deep.equal([200, 202, 200])
    await requestDeletion(owner)
    const unknown = await caller.callSigned(
      { ...webhook, path: webhook.path.replace(/[0-9a-f-]{36}/, owner.userId) },
      { order: 'A' },
    )
    expect(await call()).to.deep.equal([404, unknown.status, 404])
  })

  it('leaves no invitation that can be accepted', async () => {
    const guest = await buildWorkspace(app)
    await owner.call('POST', '/api/invitations', { email: guest.email, role: 'admin' })
    await sendInvitations(app.system)
    const [email] = await listEmailsTo(guest.email, app.dataDir)
    const token = /"token": "([A-Za-z0-9_-]{43})"/.exec(email?.text ?? '')?.[1] ?? ''
    await requestDeletion(owner)
    const { status, body } = await guest.request('POST', '/api/invitations/accept', { token })
    expect([status, body.code]).to.deep.equal([422, 'invitation_invalid'])
  })

  it('has an effect once for concurrent calls, which return the same receipt or are refused', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => requestDeletion(owner)))
    const accepted = answers.filter(({ status }) => status === 202)
    expect(accepted).to.not.have.length(0)
    for (const { body } of accepted) expect(body).to.deep.equal(accepted[0]?.body)
    expect(answers.every(({ status }) => status === 202 || status === 403)).to.equal(true)
  })

  it('lets an owner without another workspace sign in again and create one', async () => {
    await requestDeletion(owner)
    const { email, password } = owner
    const signedIn = await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })
    expect([signedIn.status, signedIn.body.workspaces]).to.deep.equal([200, []])
    const created = await owner.request('POST', '/api/workspaces', { name: 'Next' })
    expect(created.status).to.equal(201)
    const next = new WorkspaceClient(app, { ...owner, tenantId: created.body.id })
    expect((await next.call('GET', PATH)).name).to.equal('Next')
  })

  it('does not count a deleted workspace as one of the 20 that a member may own', async () => {
    for (let count = 1; count < 20; count += 1) await owner.call('POST', '/api/workspaces', { name: `W${count}` })
    expect((await owner.request('POST', '/api/workspaces', { name: 'More' })).status).to.equal(422)
    await requestDeletion(owner)
    expect((await owner.request('POST', '/api/workspaces', { name: 'More' })).status).to.equal(201)
  })
})
