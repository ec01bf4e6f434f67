import { expect } from 'chai'
import { sendInvitations, purgeInvitations } from '../../../src/features/members/invitations/send-invitations.ts'
import { DAY, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildMember, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, readSessionCookie, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { listEmailsTo } from '../../support/mail.ts'
import { SmtpServer } from '../../support/smtp-server.ts'
import { type TempDir, createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const ORIGIN = 'https://app.parley.example'

describe('invitations API', () => {
  let app: TestApp
  let folder: TempDir
  let owner: WorkspaceClient
  let guest: TestSession

  before(async () => {
    folder = createTempDir()
    app = await startTestApp({ DATA_DIR: folder.path, APP_ORIGINS: ORIGIN, ROLES: 'http' })
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    guest = await app.signUp('Grace')
  })

  after(async () => {
    await app.stop()
    await folder.remove()
  })

  function invite(email: string, fields: object = {}, actor = owner): Promise<ApiResponse> {
    return actor.request('POST', '/api/invitations', { email, role: 'agent', ...fields })
  }

  async function listTexts(email: string): Promise<string[]> {
    await sendInvitations(app.system)
    return (await listEmailsTo(email, folder.path)).map(({ text }) => text)
  }

  /** The token of the newest email. */
  async function readToken(email: string): Promise<string> {
    return /[A-Za-z0-9_-]{43}/.exec((await listTexts(email)).at(-1) ?? '')?.[0] ?? ''
  }

  async function inviteGuest(fields: object = {}): Promise<string> {
    expect((await invite(guest.email, fields)).status).to.equal(201)
    return readToken(guest.email)
  }

  function accept(token: string, { cookie }: TestSession = guest): Promise<ApiResponse> {
    return app.rest('POST', '/api/invitations/accept', { body: { token }, headers: { cookie } })
  }

  async function expectInvalid(answer: Promise<ApiResponse>): Promise<void> {
    const { status, body } = await answer
    expect([status, body.code]).to.deep.equal([422, 'invitation_invalid'])
    expect(body.error).to.match(/^This invitation does not work: it was revoked, has expired or is for another/)
  }

  async function signInAgain(session: TestSession): Promise<TestSession> {
    const { email, password } = session
    const response = await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })
    return { ...session, cookie: readSessionCookie(response) }
  }

  async function listInvitations(): Promise<ApiResponse['body'][]> {
    return (await owner.call('GET', '/api/invitations')).items
  }

  it('an invited user becomes a member with the invited role by the token of the email', async () => {
    const { status, body } = await invite(guest.email.toUpperCase(), { role: 'agent' })
    expect(status).to.equal(201)
    const at = app.clock.now()
    expect(body).to.deep.equal({
      id: body.id,
      email: guest.email,
      role: 'agent',
      status: 'pending',
      invitedBy: { userId: owner.userId, name: 'Ada' },
      createdAt: at.toISOString(),
      invitedAt: at.toISOString(),
      expiresAt: new Date(at.getTime() + 7 * DAY).toISOString(),
    })
    const [text = ''] = await listTexts(guest.email)
    expect(text).to.contain(`Ada invites you to the workspace "Ada's workspace" on Parley, with the role agent.`)
    expect(text).to.contain('POST /api/invitations/accept')
    const token = await readToken(guest.email)
    const accepted = await accept(token)
    expect(accepted.body).to.deep.equal({ id: owner.tenantId, name: "Ada's workspace", role: 'agent' })
    const member = new WorkspaceClient(app, { ...guest, tenantId: owner.tenantId })
    expect((await member.request('GET', '/api/contacts')).status).to.equal(200)
    expect(await listInvitations()).to.deep.equal([{ ...body, status: 'accepted' }])
  })

  it('accepting the token that was emailed verifies the address of the account, and a token that does not work does not', async () => {
    const readVerified = async () =>
      (await app.rest('GET', '/api/auth/get-session', { headers: { cookie: guest.cookie } })).body.user.emailVerified
    const token = await inviteGuest()
    await expectInvalid(accept('A'.repeat(43)))
    expect(await readVerified()).to.equal(false)
    expect((await accept(token)).status).to.equal(200)
    expect(await readVerified()).to.equal(true)
  })

  it('the email links to a page on a trusted origin only, and no GET accepts', async () => {
    const token = await inviteGuest({ redirectTo: `${ORIGIN}/join?from=mail` })
    const [text = ''] = await listTexts(guest.email)
    expect(text).to.contain(`open this page:\n\n${ORIGIN}/join?from=mail&token=${token}`)
    const foreign = await invite('other@people.example', { redirectTo: 'https://evil.example/join' })
    expect([foreign.status, foreign.body.details[0].path]).to.deep.equal([400, 'redirectTo'])
    expect(await listTexts('other@people.example')).to.deep.equal([])
    const headers = { cookie: guest.cookie }
    for (const path of [
      `/api/invitations/accept?token=${token}`,
      `/api/trpc/invitations.accept?input={"json":{"token":"${token}"}}`,
    ]) {
      expect((await app.rest('GET', path, { headers })).status, path).to.be.oneOf([401, 403, 404, 405])
    }
    const refused = await app.rest('GET', '/api/invitations/accept', { headers })
    expect([refused.body.error, refused.headers.get('allow')]).to.deep.equal(['This path takes POST', 'POST'])
    expect((await listInvitations()).find(({ email }) => email === guest.email)?.status).to.equal('pending')
  })

  it('inviting gives the same answer for addresses with and without an account', async () => {
    const known = await invite(guest.email)
    const unknown = await invite('nobody@people.example')
    const comparable = ({ status, body: { id: _id, email: _email, ...body } }: ApiResponse) => ({ status, body })
    expect(comparable(unknown)).to.deep.equal(comparable(known))
    expect(await listTexts('nobody@people.example')).to.have.length(1)
  })

  it('only the hash of a token is stored, and no answer has the token', async () => {
    const token = await inviteGuest()
    const { rows } = await app.system.db.raw('select i::text as row from invitations i')
    expect(JSON.stringify([rows, await listInvitations()])).not.to.contain(token)
  })

  it('accepting twice is harmless, also at once, and does not let a removed member in again', async () => {
    const token = await inviteGuest()
    const answers = await Promise.all(Array.from({ length: 5 }, () => accept(token)))
    for (const { status, body } of answers) expect([status, body.role]).to.deep.equal([200, 'agent'])
    await owner.call('PATCH', `/api/members/${guest.userId}`, { role: 'viewer' })
    expect((await accept(token)).body).to.include({ role: 'viewer' })
    await owner.call('DELETE', `/api/members/${guest.userId}`)
    await expectInvalid(accept(token))
  })

  it('wrong, foreign, renewed, revoked and expired tokens give one and the same error', async () => {
    const former = await inviteGuest()
    await expectInvalid(accept('x'.repeat(43)))
    await expectInvalid(accept('short'))
    const stranger = await app.signUp()
    await expectInvalid(accept(former, stranger))
    expect((await app.rest('POST', '/api/invitations/accept', { body: { token: former } })).status).to.equal(401)

    await invite(guest.email)
    await expectInvalid(accept(former))
    const renewed = await inviteGuest({ role: 'viewer' })
    expect(renewed).not.to.equal(former)
    const [{ id }] = await listInvitations()
    for (let count = 0; count < 2; count += 1)
      expect((await owner.request('DELETE', `/api/invitations/${id}`)).status).to.equal(204)
    await expectInvalid(accept(renewed))
    expect((await listInvitations()).map(({ status }) => status)).to.deep.equal(['revoked'])

    const last = await inviteGuest()
    app.clock.advance(7 * DAY)
    // Sessions last as long.
    guest = await signInAgain(guest)
    owner = new WorkspaceClient(app, await signInAgain(owner))
    await expectInvalid(accept(last))
    expect((await listInvitations()).map(({ status }) => status)).to.deep.equal(['expired'])
    const again = await inviteGuest()
    expect((await accept(again)).status).to.equal(200)
    const revoked = await owner.request('DELETE', `/api/invitations/${id}`)
    expect([revoked.status, revoked.body.code]).to.deep.equal([409, 'invitation_accepted'])
  })

  it('inviting again mails again at once, and an email that was not sent yet is sent once', async () => {
    await invite(guest.email)
    await invite(guest.email)
    expect(await listTexts(guest.email)).to.have.length(1)
    await invite(guest.email)
    expect(await listTexts(guest.email)).to.have.length(2)
    expect(await listInvitations()).to.have.length(1)
  })

  it('a token that is accepted while the invitation is revoked makes a member or none, and both sides agree', async () => {
    for (let count = 0; count < 5; count += 1) {
      guest = await app.signUp()
      const token = await inviteGuest()
      const { id } = (await listInvitations()).find(({ email }) => email === guest.email)
      const [accepted, revoked] = await Promise.all([accept(token), owner.request('DELETE', `/api/invitations/${id}`)])
      expect([accepted.status, revoked.status]).to.deep.equal(accepted.status === 200 ? [200, 409] : [422, 204])
      const members = await app.system.db('memberships').where({ workspace_id: owner.tenantId, user_id: guest.userId })
      expect(members).to.have.length(accepted.status === 200 ? 1 : 0)
    }
  })

  it('admins invite up to their own role, and agents nobody', async () => {
    const admin = await buildMember(owner, 'admin')
    const agent = await buildMember(owner, 'agent')
    expect((await invite('a@people.example', { role: 'owner' }, admin)).status).to.equal(403)
    expect((await invite('a@people.example', { role: 'admin' }, admin)).status).to.equal(201)
    expect((await invite('b@people.example', { role: 'viewer' }, agent)).status).to.equal(403)
    expect((await agent.request('GET', '/api/invitations')).status).to.equal(403)
    const { body } = await invite('c@people.example', { role: 'owner' })
    expect((await invite('c@people.example', { role: 'viewer' }, admin)).status).to.equal(403)
    expect((await admin.request('DELETE', `/api/invitations/${body.id}`)).status).to.equal(403)
    const member = await invite(agent.email)
    expect([member.status, member.body.code]).to.deep.equal([409, 'already_member'])
  })

  it('invitations for roles that their sender may not grant any more are revoked with the change of the sender', async () => {
    const sender = await buildMember(owner, 'admin')
    await setRole(sender, 'owner')
    for (const role of ['owner', 'admin', 'viewer']) await invite(`${role}@people.example`, { role }, sender)
    const listPending = async () =>
      (await listInvitations()).flatMap(({ status, role }) => (status === 'pending' ? [role] : [])).sort()
    await setRole(sender, 'admin')
    expect(await listPending()).to.deep.equal(['admin', 'viewer'])
    await owner.call('DELETE', `/api/members/${sender.userId}`)
    expect(await listPending()).to.deep.equal([])
  })

  function setRole({ userId }: TestSession, role: string): Promise<unknown> {
    return owner.call('PATCH', `/api/members/${userId}`, { role })
  }

  it('a workspace has at most 100 pending invitations, and invites 200 addresses within a day', async () => {
    const now = app.clock.now()
    const fill = (count: number, status: string) =>
      app.system.db.raw(
        `insert into invitations (id, workspace_id, email, role, status, invited_by, email_count, emails_since, created_at,
           invited_at, expires_at)
         select gen_random_uuid(), ?, ? || n || '@people.example', 'viewer', ?, ?, 1, ?::timestamptz, ?::timestamptz, ?::timestamptz,
           ?::timestamptz + interval '7 days' from generate_series(1, ?::int) n`,
        [owner.tenantId, status, status, owner.userId, now, now, now, now, count],
      )
    const code = async () => (await invite('one-more@people.example')).body.code
    await fill(99, 'pending')
    expect((await invite(guest.email)).status).to.equal(201)
    expect(await code()).to.equal('too_many_invitations')
    expect((await invite(guest.email)).status).to.equal(201)
    await app.system.db('invitations').where('status', 'pending').update({ status: 'revoked' })
    await fill(100, 'accepted')
    expect(await code()).to.equal('too_many_invitations')
    app.clock.advance(DAY)
    expect(await code()).to.equal(undefined)
  })

  it('an address is sent at most 5 emails by a workspace within a day', async () => {
    for (let count = 0; count < 5; count += 1) await inviteGuest()
    const refused = await invite(guest.email)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'too_many_invitations'])
    const [{ id }] = await listInvitations()
    await owner.call('DELETE', `/api/invitations/${id}`)
    expect((await invite(guest.email)).status).to.equal(409)
    app.clock.advance(DAY)
    expect(await inviteGuest()).to.have.length(43)
  })

  it('invitations are deleted 90 days after they have expired', async () => {
    const { body } = await invite(guest.email)
    const readRows = () => app.system.db('invitations').where('id', body.id)
    app.clock.advance(97 * DAY)
    await purgeInvitations(app.system)
    expect(await readRows()).to.have.length(1)
    app.clock.advance(SECOND)
    await purgeInvitations(app.system)
    expect(await readRows()).to.have.length(0)
  })
})

describe('emails of invitations', () => {
  it('a renewed invitation is emailed when the mail server works again, and its former token works no more', async () => {
    const mail = await SmtpServer.start()
    const app = await startTestApp({ SMTP_URL: mail.url })
    try {
      const owner = await buildWorkspace(app)
      const guest = await app.signUp()
      const invite = () => owner.call('POST', '/api/invitations', { email: guest.email, role: 'viewer' })
      const accept = () => {
        const token = /[A-Za-z0-9_-]{43}/.exec(mail.emails.at(-1)?.text ?? '')?.[0]
        const headers = { cookie: guest.cookie }
        return app.rest('POST', '/api/invitations/accept', { body: { token }, headers })
      }
      await invite()
      await waitUntil(() => mail.emails.length === 1)
      await waitUntil(async () => (await app.system.db('invitations').whereNotNull('due_at')).length === 0)
      mail.mode = 'refusing'
      await invite()
      await waitUntil(() => mail.connections === 2)
      expect((await accept()).body).to.include({ code: 'invitation_invalid' })
      mail.mode = 'accepting'
      app.clock.advance(MINUTE + SECOND)
      await waitUntil(async () => (await app.system.db('invitations').whereNotNull('due_at')).length === 0)
      expect(mail.emails).to.have.length(2)
      expect((await accept()).body).to.include({ id: owner.tenantId, role: 'viewer' })
    } finally {
      await app.stop()
      mail.stop()
    }
  })
})
