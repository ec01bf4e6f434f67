import { expect } from 'chai'
import { buildConversation, buildMember, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Role = 'owner' | 'admin' | 'agent' | 'viewer'

describe('members API', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  async function buildRole(role: Role): Promise<WorkspaceClient> {
    const member = await buildMember(owner, role === 'owner' ? 'admin' : role)
    if (role === 'owner') await setRole(owner, member, 'owner')
    return member
  }

  function setRole(actor: WorkspaceClient, { userId }: { userId: string }, role: Role): Promise<ApiResponse> {
    return actor.request('PATCH', `/api/members/${userId}`, { role })
  }

  function remove(actor: WorkspaceClient, { userId }: { userId: string }): Promise<ApiResponse> {
    return actor.request('DELETE', `/api/members/${userId}`)
  }

  async function listRoles(): Promise<Record<string, Role>> {
    const { items } = await owner.call('GET', '/api/members')
    return Object.fromEntries(items.map(({ userId, role }: { userId: string; role: Role }) => [userId, role]))
  }

  it('GET /api/members lists all members with their roles in the order of joining, also to viewers', async () => {
    const viewer = await buildMember(owner, 'viewer')
    const { items } = await viewer.call('GET', '/api/members')
    expect(items).to.deep.equal([
      {
        userId: owner.userId,
        name: 'Ada',
        email: owner.email,
        image: null,
        role: 'owner',
        joinedAt: items[0].joinedAt,
      },
      {
        userId: viewer.userId,
        name: 'viewer',
        email: viewer.email,
        image: null,
        role: 'viewer',
        joinedAt: app.clock.now().toISOString(),
      },
    ])
    expect(await viewer.call('GET', `/api/members/${owner.userId}`)).to.deep.equal(items[0])
    const other = await buildWorkspace(app)
    expect((await viewer.request('GET', `/api/members/${other.userId}`)).status).to.equal(404)
  })

  it('a changed role is effective with the next request, for more rights and for fewer', async () => {
    const member = await buildMember(owner, 'viewer')
    const createTag = (name: string) => member.request('POST', '/api/tags', { name })
    expect((await createTag('a')).status).to.equal(403)
    expect((await setRole(owner, member, 'admin')).body).to.include({ userId: member.userId, role: 'admin' })
    expect((await createTag('a')).status).to.equal(201)
    await setRole(owner, member, 'viewer')
    expect((await createTag('b')).status).to.equal(403)
    await remove(owner, member)
    expect((await member.request('GET', '/api/tags')).status).to.equal(403)
  })

  describe('rights by role', () => {
    const ROLES: Role[] = ['viewer', 'agent', 'admin', 'owner']

    for (const actorRole of ROLES) {
      for (const targetRole of ROLES) {
        it(`a member with the role ${actorRole} may give a member with the role ${targetRole} only the documented roles`, async () => {
          const actor = await buildRole(actorRole)
          const target = await buildRole(targetRole)
          const mayTouch = actorRole === 'owner' || (actorRole === 'admin' && targetRole !== 'owner')
          for (const role of ROLES) {
            const isAllowed = mayTouch && (actorRole === 'owner' || role !== 'owner')
            const { status } = await setRole(actor, target, role)
            const isNoChange = role === targetRole && (actorRole === 'admin' || actorRole === 'owner')
            expect(status, role).to.equal(isAllowed || isNoChange ? 200 : 403)
            await setRole(owner, target, targetRole)
          }
          expect((await remove(actor, target)).status).to.equal(mayTouch ? 204 : 403)
          expect(Object.keys(await listRoles()).includes(target.userId)).to.equal(!mayTouch)
        })
      }
    }
  })

  it('the only owner cannot leave, and can be neither removed nor demoted', async () => {
    const admin = await buildMember(owner, 'admin')
    const answers = [
      await owner.request('POST', '/api/members/leave', {}),
      await remove(owner, owner),
      await setRole(owner, owner, 'admin'),
    ]
    for (const { status, body } of answers) expect([status, body.code]).to.deep.equal([409, 'last_owner'])
    await setRole(owner, admin, 'owner')
    expect((await owner.request('POST', '/api/members/leave', {})).status).to.equal(204)
    expect((await owner.request('GET', '/api/members')).status).to.equal(403)
    expect((await admin.request('POST', '/api/members/leave', {})).body).to.include({ code: 'last_owner' })
  })

  it('of two owners who leave, demote or remove each other at once, one stays', async () => {
    const attempts: ((one: WorkspaceClient, other: WorkspaceClient) => Promise<ApiResponse>)[] = [
      (one) => one.request('POST', '/api/members/leave', {}),
      (one) => setRole(one, one, 'viewer'),
      (one, other) => remove(one, other),
      (one, other) => setRole(one, other, 'agent'),
    ]
    for (const attempt of attempts) {
      const one = await buildWorkspace(app)
      const other = await buildMember(one, 'admin')
      await setRole(one, other, 'owner')
      const answers = await Promise.all([attempt(one, other), attempt(other, one)])
      expect(answers.filter(({ status }) => status < 300)).to.have.length(1)
      const owners = await app.system.db('memberships').where({ workspace_id: one.tenantId, role: 'owner' })
      expect(owners).to.have.length(1)
    }
  })

  it('removing a member unassigns all conversations of it and no others', async () => {
    const agent = await buildMember(owner, 'agent')
    const conversations = await Promise.all(Array.from({ length: 3 }, () => buildConversation(owner)))
    const [kept, ...assigned] = conversations
    const assign = ({ id }: { id: string }, { userId }: { userId: string }) =>
      owner.call('PATCH', `/api/conversations/${id}`, { assigneeId: userId })
    await assign(kept, owner)
    for (const conversation of assigned) await assign(conversation, agent)
    app.system.portions.historyStep = 1
    expect((await remove(owner, agent)).status).to.equal(204)
    const { items } = await owner.call('GET', '/api/conversations')
    const assignees = new Map(
      items.map(({ id, assigneeId }: { id: string; assigneeId: string | null }) => [id, assigneeId]),
    )
    expect(assignees.get(kept.id)).to.equal(owner.userId)
    expect(assigned.map(({ id }) => assignees.get(id))).to.deep.equal([null, null])
  })

  it('a demotion in one process ends rights and subscriptions in another one', async () => {
    const other = await startTestApp({ DATABASE_URL: app.databaseUrl, ROLES: 'http' })
    try {
      const member = await buildMember(owner, 'admin')
      const createTag = (name: string) => other.rest('POST', '/api/tags', { session: member, body: { name } })
      expect((await createTag('a')).status).to.equal(201)
      const stream = await openEventStream<object>(other.url, member, { procedure: 'events.follow', input: {} })
      await sendAsCustomer(owner)
      await stream.next()
      await setRole(owner, member, 'viewer')
      await waitUntil(async () => (await stream.next().catch(() => undefined)) === undefined)
      expect(stream.error).to.deep.include({ httpStatus: 403 })
      expect((await createTag('b')).status).to.equal(403)
    } finally {
      await other.stop()
    }
  })

  describe('open subscriptions', () => {
    async function follow(member: WorkspaceClient) {
      const stream = await openEventStream<object>(app.url, member, { procedure: 'events.follow', input: {} })
      await sendAsCustomer(owner)
      await stream.next()
      return stream
    }
    type Stream = Awaited<ReturnType<typeof follow>>

    async function readEnd(stream: Stream): Promise<unknown> {
      await waitUntil(async () => (await stream.next().catch(() => undefined)) === undefined)
      return stream.error
    }

    it('end with 403 when their member is demoted, removed or leaves', async () => {
      const ends: ((member: WorkspaceClient) => Promise<ApiResponse>)[] = [
        (member) => setRole(owner, member, 'viewer'),
        (member) => remove(owner, member),
        (member) => member.request('POST', '/api/members/leave', {}),
      ]
      for (const end of ends) {
        const member = await buildMember(owner, 'agent')
        const stream = await follow(member)
        await end(member)
        expect(await readEnd(stream)).to.deep.include({ error: 'Forbidden', httpStatus: 403 })
      }
    })

    it('of a promoted member go on, and end when it is demoted again if they were opened meanwhile', async () => {
      const member = await buildMember(owner, 'viewer')
      const former = await follow(member)
      await setRole(owner, member, 'admin')
      const later = await follow(member)
      await former.next()
      await setRole(owner, member, 'agent')
      expect(await readEnd(later)).to.deep.include({ httpStatus: 403 })
      await sendAsCustomer(owner)
      await former.until((data) => JSON.stringify(data).includes('message.'))
      former.close()
    })
  })
})
