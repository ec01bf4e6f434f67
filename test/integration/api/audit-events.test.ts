import { expect } from 'chai'
import { ERASE_EVERY_MS, eraseDeletedAccounts } from '../../../src/features/audit-events/erase-deleted-accounts.ts'
import { sendInvitations } from '../../../src/features/members/invitations/send-invitations.ts'
import { deleteExpired } from '../../../src/features/retention/delete-expired.ts'
import { purgeAuditEvents } from '../../../src/features/retention/purge-rows.ts'
import { newId } from '../../../src/platform/ids.ts'
import { DAY } from '../../../src/platform/time.ts'
import { REFUSALS_PER_DAY_MAX } from '../../../src/trpc/audit.ts'
import {
  buildChannel,
  buildContact,
  buildCredential,
  buildMember,
  buildTemplate,
  buildWorkspace,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { listEmailsTo } from '../../support/mail.ts'
import { recordStatements } from '../../support/statements.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type AuditEvent = ApiResponse['body']

const REFUSALS = 150

describe('audit events', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })
  beforeEach(async () => {
    owner = await buildWorkspace(app)
  })
  after(() => app.stop())

  async function list(query = '', by = owner): Promise<AuditEvent[]> {
    return (await by.call('GET', `/api/audit-events?limit=100&${query}`)).items
  }

  /** Lists the events of a call, which is recognized by the ID that it sends. */
  async function audit(call: (headers: Record<string, string>) => Promise<ApiResponse>): Promise<AuditEvent[]> {
    const requestId = newId()
    await call({ 'x-request-id': requestId })
    return (await list()).filter(({ context }) => context.requestId === requestId)
  }

  async function createKey(scopes: string[]): Promise<{ id: string; headers: Record<string, string> }> {
    const { id, key } = await owner.call('POST', '/api/api-keys', { name: 'Booking system', scopes })
    return { id, headers: { authorization: `Bearer ${key}` } }
  }

  /** Copies an event of the workspace, at other times and of other requests. */
  async function insertCopies(count: number, columns: object = {}): Promise<void> {
    const [row] = await app.system.db('audit_events').where('tenant_id', owner.tenantId).limit(1)
    const { targets, fields, ...rest } = row
    const rows = Array.from({ length: count }, () => ({
      ...rest,
      targets: JSON.stringify(targets),
      fields: JSON.stringify(fields),
      id: newId(),
      ...columns,
    }))
    await app.system.db.batchInsert('audit_events', rows, 500)
  }

  it('have the member, the operation, its target, the request and the names of the fields, and no values of texts', async () => {
    const { id } = await buildContact(owner, { name: 'Ana Souza' })
    const headers = { 'user-agent': 'Console/1.0', 'x-forwarded-for': '203.0.113.9' }
    const body = { name: 'Bia Lima', blocked: true }
    const [event, ...others] = await audit((ids) =>
      owner.request('PATCH', `/api/contacts/${id}`, body, { ...headers, ...ids }),
    )
    expect(others).to.deep.equal([])
    expect(event).to.deep.equal({
      id: event.id,
      at: app.clock.now().toISOString(),
      action: 'contacts.update',
      outcome: 'succeeded',
      actor: { type: 'user', id: owner.userId, name: 'Ada' },
      targets: [{ type: 'contact', id }],
      targetCount: 1,
      context: { address: '203.0.113.9', userAgent: 'Console/1.0', requestId: event.context.requestId },
      fields: [{ name: 'name' }, { name: 'blocked', from: false, to: true }],
    })
  })

  it('name the API key that made the change, also after it is revoked, and a created object', async () => {
    const { id: keyId, headers } = await createKey(['tags:write'])
    const { body: tag } = await app.rest('POST', '/api/tags', { headers, body: { name: 'VIP' } })
    await owner.call('DELETE', `/api/api-keys/${keyId}`)
    const [event] = await list(`actorId=${keyId}`)
    expect(event).to.deep.include({
      action: 'tags.create',
      actor: { type: 'key', id: keyId, name: 'Booking system' },
      targets: [{ type: 'tag', id: tag.id }],
      fields: [{ name: 'name' }],
    })
  })

  it('have the former and the new role of a member, and the keys that are revoked with it', async () => {
    const member = await buildMember(owner, 'admin')
    const { body: key } = await member.request('POST', '/api/api-keys', { name: 'k', scopes: ['full'] })
    const path = `/api/members/${member.userId}`
    const [event] = await audit((headers) => owner.request('PATCH', path, { role: 'agent' }, headers))
    expect(event).to.deep.include({
      action: 'members.update',
      targets: [
        { type: 'member', id: member.userId },
        { type: 'api_key', id: key.id },
      ],
      fields: [{ name: 'role', from: 'admin', to: 'agent' }],
    })
    expect(await audit((headers) => owner.request('PATCH', path, { role: 'agent' }, headers))).to.deep.equal([])
    const [removed, ...others] = await audit((headers) => owner.request('DELETE', path, undefined, headers))
    expect(removed).to.deep.include({ action: 'members.remove', targets: [{ type: 'member', id: member.userId }] })
    expect(others).to.deep.equal([])
  })

  it('have changed scopes and rotations of API keys, and no secret', async () => {
    const { id } = await createKey(['tags:read'])
    const scopes = ['tags:read', 'tags:write']
    await owner.call('PATCH', `/api/api-keys/${id}`, { scopes, limitPerMinute: 10 })
    const { key } = await owner.call('POST', `/api/api-keys/${id}/rotate`, { overlap: '1h' })
    const [rotated, updated] = await list(`targetId=${id}&targetType=api_key`)
    expect(rotated).to.deep.include({ action: 'apiKeys.rotate', fields: [{ name: 'overlap' }] })
    expect(updated.fields).to.deep.equal([
      { name: 'scopes', from: ['tags:read'], to: scopes },
      { name: 'limitPerMinute' },
    ])
    const { rows } = await app.system.db.raw<{ rows: { text: string }[] }>(`select a::text as text from audit_events a`)
    expect(rows.filter(({ text }) => text.includes(key.slice(0, 12)))).to.deep.equal([])
  })

  it('leave out settings that are set to what they were, and are not written if all were', async () => {
    await owner.call('PATCH', '/api/workspace', { name: 'Casa', language: 'pt_BR' })
    const patch = (body: object) => audit((headers) => owner.request('PATCH', '/api/workspace', body, headers))
    const [event] = await patch({ name: 'Casa', language: 'de', country: 'DE' })
    expect(event).to.deep.include({ action: 'workspace.update', targets: [] })
    expect(event.fields).to.deep.equal([{ name: 'language' }, { name: 'country' }])
    expect(await patch({ name: 'Casa' })).to.deep.equal([])
  })

  it('are written for what an input removes by leaving it out, such as an exclusion or a credential', async () => {
    const { id: templateId } = await buildTemplate(owner)
    const { id: excluded } = await buildContact(owner)
    const { id: group } = await owner.call('POST', '/api/groups', { name: 'G' })
    const audience = { groupIds: [group] }
    const draft = { name: 'B', templateId, audience: { ...audience, exclude: { contactIds: [excluded] } } }
    const { id } = await owner.call('POST', '/api/broadcasts', draft)
    const patch = (path: string, body: object) => audit((headers) => owner.request('PATCH', path, body, headers))
    expect(await patch(`/api/broadcasts/${id}`, { audience: draft.audience })).to.deep.equal([])
    const [event] = await patch(`/api/broadcasts/${id}`, { name: 'B', audience })
    expect(event.fields).to.deep.equal([{ name: 'audience' }])
    expect(await patch(`/api/broadcasts/${id}`, { name: 'B', audience })).to.deep.equal([])
    const [emptied] = await patch(`/api/broadcasts/${id}`, { name: 'B', audience: {} })
    expect(emptied.fields).to.deep.equal([{ name: 'audience' }])

    const { id: credentialId } = await buildCredential(owner)
    const config = { method: 'GET', url: 'https://shop.example.com/quotes' }
    const schemas = { inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }
    const tool = { name: 'quote', title: 'T', description: 'D', ...schemas, effect: 'read' }
    const { id: toolId } = await owner.call('POST', '/api/tools', { ...tool, config: { ...config, credentialId } })
    const [bare] = await patch(`/api/tools/${toolId}`, { title: 'T', config })
    expect(bare.fields).to.deep.equal([{ name: 'config' }])
  })

  it('are written for what an equal input changes beside its fields', async () => {
    const channel = await buildChannel(owner)
    const { id: templateId } = await buildTemplate(owner, { channelId: channel.id, body: 'B' })
    await app.system.db('templates').where('id', templateId).update({ status: 'rejected' })
    const patch = (path: string, body: object) => audit((headers) => owner.request('PATCH', path, body, headers))
    expect(await patch(`/api/templates/${templateId}`, { body: 'B' })).to.have.length(1)
    expect(await patch(`/api/templates/${templateId}`, { body: 'B' })).to.deep.equal([])
    const { id: contactId } = await buildContact(owner)
    await sendAsCustomer(owner, { contactId })
    const { items } = await owner.call('GET', `/api/conversations?contactId=${contactId}`)
    const path = `/api/conversations/${items[0].id}`
    const until = new Date(app.clock.now().getTime() + DAY).toISOString()
    expect(await patch(path, { automation: { state: 'paused', until } })).to.have.length(1)
    expect(await patch(path, { automation: { state: 'paused' } })).to.have.length(1)
    await patch(path, { status: 'closed' })
    expect(await patch(path, { status: 'closed' })).to.deep.equal([])
    await patch(path, { automation: { state: 'paused' } })
    expect(await patch(path, { status: 'closed' })).to.have.length(1)
  })

  it('of the calls of organization clients are those of the operations that they stand for, with their targets', async () => {
    const member = await buildMember(owner, 'agent')
    const post = async (path: string, body: object) => {
      const headers = { cookie: owner.cookie }
      const answer = await app.rest('POST', `/api/auth/organization/${path}`, { body, headers })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body
    }
    const organizationId = owner.tenantId
    const change = { organizationId, memberId: member.userId, role: 'viewer' }
    for (let count = 0; count < 2; count += 1) await post('update-member-role', change)
    await post('remove-member', { organizationId, memberIdOrEmail: member.email })
    const { id } = await post('invite-member', { organizationId, email: 'guest@people.example', role: 'agent' })
    await post('cancel-invitation', { organizationId, invitationId: id })
    for (let count = 0; count < 2; count += 1) await post('update', { organizationId, data: { name: 'Casa' } })
    const target = { type: 'member', id: member.userId }
    const events = (await list()).map(({ action, targets, fields }) => [
      action,
      targets,
      fields.map(({ name }: { name: string }) => name),
    ])
    expect(events).to.deep.equal([
      ['workspace.update', [], ['name']],
      ['invitations.revoke', [{ type: 'invitation', id }], []],
      ['invitations.create', [{ type: 'invitation', id }], ['email', 'role']],
      ['members.remove', [target], ['memberIdOrEmail']],
      ['members.update', [target], ['role']],
    ])
  })

  it('of the removal of a member are not written if only its conversations could be unassigned', async () => {
    const member = await buildMember(owner, 'agent')
    await sendAsCustomer(owner)
    const { items } = await owner.call('GET', '/api/conversations')
    await owner.call('PATCH', `/api/conversations/${items[0].id}`, { assigneeId: member.userId })
    await app.system.db.raw(`alter table events add constraint broken check (type <> 'member.removed') not valid`)
    try {
      expect((await owner.request('DELETE', `/api/members/${member.userId}`)).status).to.equal(500)
    } finally {
      await app.system.db.raw('alter table events drop constraint broken')
    }
    expect((await owner.call('GET', `/api/conversations/${items[0].id}`)).assigneeId).to.equal(null)
    expect(await list('action=members.remove')).to.deep.equal([])
  })

  it('have the state of a consent', async () => {
    const { id } = await buildContact(owner)
    const consent = { purpose: 'marketing', state: 'opted_out', text: 'said so on the phone' }
    const [event] = await audit((headers) => owner.request('POST', `/api/contacts/${id}/consent`, consent, headers))
    expect(event.action).to.equal('contacts.recordConsent')
    expect(event.fields).to.deep.include.members([
      { name: 'purpose', to: 'marketing' },
      { name: 'state', to: 'opted_out' },
      { name: 'text' },
    ])
  })

  it('are written once for a bulk call, with the number of its contacts and the first 100', async () => {
    const items = Array.from({ length: 120 }, (_, index) => ({ name: `Contact ${index}`, phone: newPhone() }))
    const call = () => audit((headers) => owner.request('POST', '/api/contacts/bulk', { items }, headers))
    const [event, ...others] = await call()
    expect(others).to.deep.equal([])
    expect(event).to.include({ action: 'contacts.bulk', targetCount: 120 })
    expect(event.targets).to.have.length(100)
    expect(await call()).to.deep.equal([])
  })

  it('are not written by calls that fail, whether they conflict or their transaction is rolled back', async () => {
    const phone = newPhone()
    await buildContact(owner, { phone })
    const create = (body: object) => audit((headers) => owner.request('POST', '/api/contacts', body, headers))
    expect(await create({ name: 'Ana', phone })).to.deep.equal([])
    await app.system.db.raw(`alter table events add constraint broken check (type <> 'contact.created') not valid`)
    try {
      expect(await create({ name: 'Ana', phone: newPhone() })).to.deep.equal([])
    } finally {
      await app.system.db.raw('alter table events drop constraint broken')
    }
    await app.system.db.raw(`alter table audit_events add constraint broken check (action <> 'tags.create') not valid`)
    try {
      expect((await owner.request('POST', '/api/tags', { name: 'Unaudited' })).status).to.equal(500)
      expect((await owner.call('GET', '/api/tags')).items).to.deep.equal([])
    } finally {
      await app.system.db.raw('alter table audit_events drop constraint broken')
    }
  })

  it('are written once for a request that is repeated with its Idempotency-Key', async () => {
    const headers = { 'idempotency-key': newId() }
    const ids = []
    for (let count = 0; count < 2; count += 1)
      ids.push((await owner.request('POST', '/api/tags', { name: 'Once' }, headers)).body.id)
    expect(ids[0]).to.equal(ids[1])
    const events = await list('action=tags.create')
    expect(events.map(({ targets }) => targets)).to.deep.equal([[{ type: 'tag', id: ids[0] }]])
  })

  it('keep no name, number, address or text of a deleted contact or account', async () => {
    const member = await buildMember(owner, 'admin')
    const body = { name: 'Canary Silva', phone: '+15559911100', email: 'canary@customer.example', tags: ['canary'] }
    const contact = await member.call('POST', '/api/contacts', { ...body, fields: { canary: 'canary' } })
    await member.call('PATCH', `/api/contacts/${contact.id}`, { name: 'Canary Lima', addTags: ['canary2'] })
    await member.call('DELETE', `/api/contacts/${contact.id}`)
    const events = await list(`targetId=${contact.id}`)
    expect(events.map(({ action }) => action)).to.deep.equal(['contacts.delete', 'contacts.update', 'contacts.create'])
    await app.system.db('memberships').where('user_id', member.userId).delete()
    await app.system.db('users').where('id', member.userId).delete()
    for (const event of await list(`actorId=${member.userId}`)) {
      expect(event.actor).to.deep.equal({ type: 'user', id: member.userId, name: null })
      expect(event.context).to.deep.include({ address: null, userAgent: null })
    }
    const rows = await app.system.db('audit_events').where('tenant_id', owner.tenantId)
    expect(JSON.stringify(rows)).to.not.match(/canary|5559911|@/i)
  })

  it('have no address and user agent of a deleted account in the table after a day, and those of others', async () => {
    const member = await buildMember(owner, 'admin')
    const { headers } = await createKey(['tags:write'])
    for (const name of ['a', 'b', 'c']) await member.call('POST', '/api/tags', { name })
    await app.rest('POST', '/api/tags', { body: { name: 'd' }, headers })
    await app.system.db('memberships').where('user_id', member.userId).delete()
    await app.system.db('users').where('id', member.userId).delete()
    app.system.portions.purge = 2
    const turns = DAY / ERASE_EVERY_MS
    for (let turn = 0; turn < turns; turn += 1) {
      await eraseDeletedAccounts(app.system)
      app.clock.advance(ERASE_EVERY_MS)
    }
    const rows = await app.system.db('audit_events').where('tenant_id', owner.tenantId)
    const own = rows.filter((row) => row.actor_id === member.userId)
    expect(own.map((row) => [row.address, row.user_agent])).to.deep.equal(Array.from({ length: 3 }, () => [null, null]))
    const others = rows.filter((row) => row.actor_id !== member.userId)
    expect(new Set(others.map((row) => row.actor_type))).to.deep.equal(new Set(['user', 'key']))
    for (const row of others) expect(row.address).to.be.a('string')
  })

  it('leave no address and user agent of a deleted account in the receipt of a deleted workspace', async () => {
    const leaving = await buildWorkspace(app)
    const { name } = await leaving.call('GET', '/api/workspace')
    await leaving.call('DELETE', `/api/workspace?name=${encodeURIComponent(name)}`)
    const readReceipt = () =>
      app.system.db('workspace_deletions').where('workspace_id', leaving.tenantId).first('address', 'user_agent')
    await eraseDeletedAccounts(app.system)
    expect((await readReceipt()).address).to.be.a('string')
    await app.system.db('memberships').where('user_id', leaving.userId).delete()
    await app.system.db('users').where('id', leaving.userId).delete()
    await eraseDeletedAccounts(app.system)
    expect(await readReceipt()).to.deep.equal({ address: null, user_agent: null })
  })

  it('include who created a workspace, and who accepted an invitation', async () => {
    const { id } = await owner.call('POST', '/api/workspaces', { name: 'Second' })
    const { body } = await app.rest('GET', '/api/audit-events', { session: { ...session(owner), tenantId: id } })
    expect(body.items).to.have.length(1)
    expect(body.items[0]).to.deep.include({ action: 'workspaces.create' })
    expect(body.items[0].actor.id).to.equal(owner.userId)
    const guest = await app.signUp('Grace')
    const invitation = await owner.call('POST', '/api/invitations', { email: guest.email, role: 'agent' })
    await sendInvitations(app.system)
    const [email] = await listEmailsTo(guest.email, app.dataDir)
    const token = /[A-Za-z0-9_-]{43}/.exec(email?.text ?? '')?.[0]
    for (let count = 0; count < 2; count += 1)
      await app.rest('POST', '/api/invitations/accept', { body: { token }, headers: { cookie: guest.cookie } })
    const accepted = await list('action=invitations.accept')
    expect(accepted.map(({ actor, targets }) => [actor.id, targets])).to.deep.equal([
      [
        guest.userId,
        [
          { type: 'member', id: guest.userId },
          { type: 'invitation', id: invitation.id },
        ],
      ],
    ])
  })

  it('are read by admins and by keys with the scope, and never by another workspace', async () => {
    const { id } = await buildContact(owner)
    const other = await buildWorkspace(app)
    expect((await list('', other)).map(({ targets }) => targets[0]?.id)).to.not.include(id)
    expect(await list(`targetId=${id}`, other)).to.deep.equal([])
    expect(await list(`actorId=${owner.userId}`, other)).to.deep.equal([])
    const statuses = []
    for (const role of ['viewer', 'agent', 'admin'] as const)
      statuses.push((await (await buildMember(owner, role)).request('GET', '/api/audit-events')).status)
    for (const scope of ['contacts:read', 'audit-events:read', 'read_only']) {
      const { headers } = await createKey([scope])
      statuses.push((await app.rest('GET', '/api/audit-events', { headers })).status)
    }
    expect(statuses).to.deep.equal([403, 403, 200, 403, 200, 403])
  })

  it('are filtered by actor, operation, target and time, and paged by cursor', async () => {
    const first = await buildContact(owner)
    const since = app.clock.now()
    app.clock.advance(1000)
    const second = await buildContact(owner)
    await owner.call('PATCH', `/api/contacts/${second.id}`, { name: 'B' })
    const targets = async (query: string) => (await list(query)).map(({ targets: [target] }) => target.id)
    expect(await targets('action=contacts.create')).to.deep.equal([second.id, first.id])
    expect(await targets(`until=${new Date(since.getTime() + 1).toISOString()}`)).to.deep.equal([first.id])
    const after = new Date(since.getTime() + 1).toISOString()
    expect(await targets(`since=${after}&action=contacts.update`)).to.deep.equal([second.id])
    expect(await targets(`targetType=contact&targetId=${first.id.toUpperCase()}`)).to.deep.equal([first.id])
    expect(await targets(`targetType=tag&targetId=${first.id}`)).to.deep.equal([])
    expect((await owner.request('GET', '/api/audit-events?targetType=contact')).status).to.equal(400)
    const page = await owner.call('GET', '/api/audit-events?limit=2')
    expect(page).to.include({ total: 3 })
    const next = await owner.call('GET', `/api/audit-events?limit=2&cursor=${page.nextCursor}`)
    expect([...page.items, ...next.items].map(({ action }) => action)).to.deep.equal([
      'contacts.update',
      'contacts.create',
      'contacts.create',
    ])
  })

  it('are filtered by an action that exists and the outcome, and a typo is a 400 that names the nearest', async () => {
    const agent = await buildMember(owner, 'agent')
    await buildContact(owner)
    expect((await agent.request('POST', '/api/tags', { name: 'vip' })).status).to.equal(403)
    const refused = await list('outcome=refused')
    expect(refused.map(({ action, outcome }) => [action, outcome])).to.deep.equal([['tags.create', 'refused']])
    expect((await list('outcome=succeeded')).map(({ action }) => action)).to.deep.equal(['contacts.create'])
    expect(await list(`outcome=refused&actorId=${owner.userId}`)).to.deep.equal([])
    for (const [query, path, message] of [
      ['action=webhookEndpoints.rotate-secret', 'action', /nearest are webhookEndpoints\.rotateSecret, /],
      ['action=foo', 'action', /must be an action of audit events/],
      ['outcome=failed', 'outcome', /must be/],
    ] as const) {
      const { status, body } = await owner.request('GET', `/api/audit-events?${query}`)
      expect([status, body.details?.[0].path], query).to.deep.equal([400, path])
      expect(body.error).to.match(message)
    }
  })

  it('that were refused are found by the condition that their own index has', async () => {
    const [listing] = (await recordStatements(() => list('outcome=refused'))).filter(({ text }) =>
      text.includes("t.outcome = 'refused'"),
    )
    expect(listing).to.not.equal(undefined)
    const { rows } = await app.system.db.raw(
      `select indexdef from pg_indexes where indexname = 'audit_events_tenant_id_created_at_id_refused_idx'`,
    )
    expect(rows[0].indexdef).to.match(/\(tenant_id, created_at, id\) WHERE \(outcome = 'refused'::text\)/)
  })

  it(`of ${REFUSALS} refused attempts of an operation are one, and of a member at most ${REFUSALS_PER_DAY_MAX} in a day`, async () => {
    const viewer = await buildMember(owner, 'viewer')
    for (let start = 0; start < REFUSALS; start += 50) {
      const calls = Array.from({ length: 50 }, () => viewer.request('POST', '/api/tags', { name: 'x' }))
      const statuses = new Set((await Promise.all(calls)).map(({ status }) => status))
      expect([...statuses]).to.deep.equal([403])
    }
    const events = await list(`actorId=${viewer.userId}`)
    expect(events).to.have.length(1)
    expect(events[0]).to.deep.include({ action: 'tags.create', outcome: 'refused', targets: [], fields: [] })
    await insertCopies(REFUSALS_PER_DAY_MAX - 2, { actor_id: viewer.userId })
    for (const namespace of ['groups', 'contacts', 'templates'])
      expect((await viewer.request('POST', `/api/${namespace}`, {})).status).to.equal(403)
    expect(await list(`actorId=${viewer.userId}`)).to.have.length(REFUSALS_PER_DAY_MAX)
  })

  it('include the attempts of a key without the scope, and of an admin on an owner', async () => {
    const { id, headers } = await createKey(['tags:read'])
    expect((await app.rest('POST', '/api/tags', { headers, body: { name: 'x' } })).status).to.equal(403)
    const admin = await buildMember(owner, 'admin')
    expect((await admin.request('DELETE', `/api/members/${owner.userId}`)).status).to.equal(403)
    const refused = (await list()).filter(({ outcome }) => outcome === 'refused')
    expect(refused.map(({ action, actor }) => [action, actor.type, actor.id])).to.deep.equal([
      ['members.remove', 'user', admin.userId],
      ['tags.create', 'key', id],
    ])
  })

  it('of refused calls that name a workspace in the input are of that workspace, whatever the header says', async () => {
    const viewer = await buildMember(owner, 'viewer')
    const own = await app.rest('POST', '/api/workspaces', { body: { name: 'Own' }, headers: { cookie: viewer.cookie } })
    const input = { organizationId: owner.tenantId, memberId: viewer.userId, role: 'owner' }
    const other = { organizationId: owner.tenantId, data: { name: 'Mine' } }
    const post = (path: string, body: object, headers: object) =>
      app.rest('POST', `/api/auth/organization/${path}`, { body, headers: { cookie: viewer.cookie, ...headers } })
    const refused = [
      await post('update-member-role', input, { 'x-tenant-id': own.body.id }),
      await post('update', other, {}),
    ]
    expect(refused.map(({ status }) => status)).to.deep.equal([403, 403])
    const read = async (query: string) => (await list(`actorId=${viewer.userId}${query}`)).map(({ outcome }) => outcome)
    expect(await read('')).to.deep.equal(['refused', 'refused'])
    const { body } = await app.rest('GET', '/api/audit-events', {
      session: { ...session(viewer), tenantId: own.body.id },
    })
    expect(body.items.map(({ action }: AuditEvent) => action)).to.deep.equal(['workspaces.create'])
  })

  it('are streamed as lines, all that match, and the export is one itself', async () => {
    await buildContact(owner)
    await insertCopies(2500)
    const ndjson = { accept: 'application/x-ndjson' }
    const { status, headers, body } = await owner.request('GET', '/api/audit-events', undefined, ndjson)
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.equal('application/x-ndjson; charset=utf-8')
    const lines = body.trimEnd().split('\n')
    const events = lines.map((line: string) => JSON.parse(line))
    expect(events).to.have.length(2502)
    expect(events[0]).to.deep.include({ action: 'auditEvents.export', targets: [] })
    expect(events.slice(0, 100)).to.deep.equal(await list())
    expect(new Set(events.map(({ id }: AuditEvent) => id)).size).to.equal(2502)
    const filtered = await owner.request('GET', '/api/audit-events?action=tags.create', undefined, ndjson)
    expect(filtered.body).to.equal('')
    const limited = await owner.request('GET', '/api/audit-events?limit=1', undefined, ndjson)
    expect(limited.body).to.deep.include({ error: 'limit is not a field of this request' })
    const viewer = await buildMember(owner, 'viewer')
    expect((await viewer.request('GET', '/api/audit-events', undefined, ndjson)).status).to.equal(403)
    expect(await list('action=auditEvents.export')).to.have.length(2)
  })

  it('include exports of the recipients of a broadcast', async () => {
    const { id: templateId } = await buildTemplate(owner)
    const { id } = await owner.call('POST', '/api/broadcasts', { name: 'B', templateId })
    const statuses = []
    for (const broadcastId of [id, newId()])
      statuses.push((await owner.request('GET', `/api/broadcasts/${broadcastId}/recipients.csv`)).status)
    expect(statuses).to.deep.equal([200, 404])
    const events = await list('action=broadcasts.exportRecipients')
    expect(events.map(({ targets }) => targets)).to.deep.equal([[{ type: 'broadcast', id }]])
  })

  it('are deleted after a year, or earlier if the workspace wants that', async () => {
    await buildContact(owner)
    await insertCopies(1, { created_at: new Date(app.clock.now().getTime() - 100 * DAY) })
    await insertCopies(1, { created_at: new Date(app.clock.now().getTime() - 366 * DAY) })
    await purgeAuditEvents(app.system)
    expect(await list()).to.have.length(2)
    const put = (auditEvents: number) => owner.request('PUT', '/api/workspace/retention', { auditEvents })
    expect((await put(30)).status).to.equal(400)
    expect((await put(90)).status).to.equal(200)
    await deleteExpired(app.system)
    expect((await list()).map(({ action }) => action)).to.deep.equal(['workspace.setRetention', 'contacts.create'])
  })
})

function session({ cookie, tenantId, userId, email, password }: WorkspaceClient) {
  return { cookie, tenantId, userId, email, password }
}
