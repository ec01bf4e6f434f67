import { createAuthClient } from 'better-auth/client'
import { organizationClient } from 'better-auth/client/plugins'
import { expect } from 'chai'
import { sendInvitations } from '../../../src/features/members/invitations/send-invitations.ts'
import { newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { listEmailsTo } from '../../support/mail.ts'

let app: TestApp

/** A client of a signed-in user. `tenantId` is that of its header `x-tenant-id`; without one it sends none. */
function createClient({ cookie, tenantId = '' }: { cookie: string; tenantId?: string }, address?: string) {
  return createAuthClient({
    baseURL: app.url,
    plugins: [organizationClient()],
    fetchOptions: {
      customFetchImpl(input, init) {
        const headers = new Headers(init?.headers)
        headers.set('cookie', cookie)
        headers.set('x-forwarded-for', address ?? newAddress())
        if (tenantId !== '') headers.set('x-tenant-id', tenantId)
        return fetch(input, { ...init, headers })
      },
    },
  })
}

describe("better-auth's organization client", () => {
  let owner: TestSession
  let agent: TestSession

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  beforeEach(async () => {
    owner = await app.signUp()
    agent = await app.join(owner.tenantId, 'agent')
  })

  after(() => app.stop())

  /** Signs in without a workspace in the header. */
  const withoutTenant = ({ cookie }: TestSession) => createClient({ cookie })

  async function readToken(email: string): Promise<string> {
    await sendInvitations(app.system)
    const [message] = await listEmailsTo(email, app.dataDir)
    return /"token": "([A-Za-z0-9_-]{43})"/.exec(message?.text ?? '')?.[1] ?? ''
  }

  it('deletes a workspace that an owner names in the call, and that of the header for nobody', async () => {
    const organizationId = owner.tenantId
    expect((await createClient(agent).organization.delete({ organizationId })).error?.status).to.equal(403)
    const { status } = await app.rest('POST', '/api/auth/organization/delete', { session: owner, body: {} })
    expect(status).to.equal(400)
    const deleted = await withoutTenant(owner).organization.delete({ organizationId })
    expect(deleted.error).to.equal(null)
    expect((await withoutTenant(owner).organization.list()).data).to.deep.equal([])
    expect((await app.rest('GET', '/api/workspace', { session: owner })).status).to.equal(403)
  })

  it('creates, lists, reads and renames workspaces, which it names in the call or in the header', async () => {
    const client = withoutTenant(owner)
    const created = await client.organization.create({ name: 'Second', slug: 'second' })
    expect(created.error).to.equal(null)
    const { id = '' } = created.data ?? {}
    expect(created.data).to.include({ name: 'Second', slug: id })
    const list = await client.organization.list()
    expect(list.data?.map((organization) => organization.id)).to.deep.equal([owner.tenantId, id])
    const data = { name: 'Renamed', slug: 'renamed' }
    expect((await client.organization.update({ organizationId: id, data })).data).to.include({ id, name: 'Renamed' })
    for (const reading of [client, createClient({ ...owner, tenantId: agent.tenantId })]) {
      const full = await reading.organization.getFullOrganization({ query: { organizationId: id } })
      expect(full.data).to.include({ id, name: 'Renamed' })
      expect(full.data?.members.map(({ userId, role }) => [userId, role])).to.deep.equal([[owner.userId, 'owner']])
    }
    const own = await createClient(owner).organization.getFullOrganization()
    expect(own.data?.members.map((member) => member.user.email)).to.deep.equal([owner.email, agent.email])
    expect(own.data?.createdAt).to.be.an.instanceOf(Date)
  })

  it('invites, lists, cancels and accepts invitations with the token of the email', async () => {
    const client = createClient(owner)
    const guest = await app.signUp()
    const invite = (email: string) => client.organization.inviteMember({ email, role: 'admin', resend: true })
    const invited = await invite(guest.email)
    expect(invited.error).to.equal(null)
    expect(invited.data).to.include({ status: 'pending', organizationId: owner.tenantId, inviterId: owner.userId })
    const token = await readToken(guest.email)
    const stranger = await app.signUp()
    const refused = await withoutTenant(stranger).organization.acceptInvitation({ invitationId: token })
    expect(refused.error).to.deep.include({ status: 422, code: 'invitation_invalid' })
    const byId = await withoutTenant(guest).organization.acceptInvitation({ invitationId: invited.data?.id ?? '' })
    expect(byId.error).to.deep.include({ status: 422, code: 'invitation_invalid' })
    const accepted = await withoutTenant(guest).organization.acceptInvitation({ invitationId: token })
    expect(accepted.data?.member).to.include({ userId: guest.userId, organizationId: owner.tenantId, role: 'admin' })

    const other = (await invite('other@people.example')).data?.id ?? ''
    const canceled = await client.organization.cancelInvitation({ invitationId: other })
    expect(canceled.data).to.include({ id: other, status: 'canceled' })
    const list = await client.organization.listInvitations()
    expect(list.data?.map(({ email, status }) => [email, status])).to.have.deep.members([
      ['other@people.example', 'canceled'],
      [guest.email, 'accepted'],
    ])
  })

  it('lists members, changes roles, removes members by ID and by address, and leaves', async () => {
    const client = withoutTenant(owner)
    const organizationId = owner.tenantId
    const viewer = await app.join(organizationId, 'viewer')
    const active = await createClient(agent).organization.getActiveMember()
    expect(active.data).to.include({ userId: agent.userId, role: 'agent' })
    const promoted = await client.organization.updateMemberRole({
      organizationId,
      memberId: agent.userId,
      role: 'admin',
    })
    expect(promoted.data).to.include({ userId: agent.userId, role: 'admin' })
    const removed = await client.organization.removeMember({ organizationId, memberIdOrEmail: viewer.email })
    expect(removed.data?.member.userId).to.equal(viewer.userId)
    expect((await withoutTenant(agent).organization.leave({ organizationId })).data).to.include({ id: agent.userId })
    const list = await client.organization.listMembers({ query: { organizationId } })
    expect(list.data?.total).to.equal(1)
    const last = await client.organization.leave({ organizationId })
    expect(last.error).to.deep.include({ status: 409, code: 'last_owner' })
  })

  it('has the rights of the operations that its calls stand for', async () => {
    const organizationId = owner.tenantId
    const agentClient = withoutTenant(agent)
    const email = 'new@people.example'
    const calls = [
      agentClient.organization.inviteMember({ organizationId, email, role: 'admin' }),
      agentClient.organization.listInvitations({ query: { organizationId } }),
      agentClient.organization.update({ organizationId, data: { name: 'Mine' } }),
      agentClient.organization.updateMemberRole({ organizationId, memberId: agent.userId, role: 'owner' }),
      agentClient.organization.removeMember({ organizationId, memberIdOrEmail: owner.email }),
      // The header names a workspace of the caller, and the call another one.
      createClient(await app.signUp()).organization.listMembers({ query: { organizationId } }),
    ]
    for (const { error } of await Promise.all(calls)) expect(error).to.include({ status: 403 })
    await createClient(owner).organization.inviteMember({ email, role: 'admin' })
    const full = await agentClient.organization.getFullOrganization({ query: { organizationId } })
    expect(full.data?.invitations).to.deep.equal([])
    const nobody = createClient({ cookie: '', tenantId: organizationId })
    expect((await nobody.organization.listMembers()).error).to.deep.include({ status: 401 })
    expect((await agentClient.organization.listMembers()).error).to.deep.include({ status: 401 })
  })

  it('pays one counter of 10 requests in 60 seconds per address for all of its calls, over tRPC as well', async () => {
    const address = newAddress()
    const client = createClient(owner, address)
    for (let count = 0; count < 5; count += 1) {
      expect((await client.organization.list()).error).to.equal(null)
      const headers = { cookie: owner.cookie, 'x-tenant-id': owner.tenantId, 'x-forwarded-for': address }
      expect(
        (await app.rest('GET', '/trpc/auth.listMembers?input=%7B%22json%22%3A%7B%7D%7D', { headers })).status,
      ).to.equal(200)
    }
    expect((await client.organization.getActiveMember()).error).to.deep.include({ status: 429 })
  })
})
