import { expect } from 'chai'
import { PORTIONS } from '../../../src/scope/dependencies.ts'
import { buildMember, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { TestClock } from '../../support/clock.ts'
import { uploadText } from '../../support/media.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PATH = '/api/workspace/usage'
const NOTHING = { inboundMessages: 0, outboundMessages: 0, runs: 0, files: 0, fileBytes: 0 }

describe('GET /api/workspace/usage', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  beforeEach(async () => {
    app = await startTestApp({}, new TestClock('2026-03-30T22:30:00.000Z'))
    workspace = await buildWorkspace(app)
  })

  afterEach(() => app.stop())

  /** The days on which something was used. */
  async function listUsed(query = '', client = workspace): Promise<object[]> {
    const { days } = await client.call('GET', PATH + query)
    return days.filter((day: object) => JSON.stringify({ ...day, ...NOTHING }) !== JSON.stringify(day))
  }

  /** Inserts messages as a seed does. */
  async function insertMessages(direction: string, times: string[], { tenantId }: WorkspaceClient): Promise<void> {
    const { db } = app.system
    const [conversation] = await db('conversations')
      .where('tenant_id', tenantId)
      .select('id', 'contact_id', 'channel_id')
    const rows = times.map((time) => ({
      tenant_id: tenantId,
      conversation_id: conversation.id,
      contact_id: conversation.contact_id,
      channel_id: conversation.channel_id,
      direction,
      type: 'text',
      body: 'Hello',
      status: direction === 'inbound' ? 'received' : 'delivered',
      sender: JSON.stringify({ type: 'system', id: null, name: null }),
      created_at: time,
    }))
    await db('messages').insert(rows)
  }

  it('counts messages, runs and files of today and what is stored, without those of other workspaces', async () => {
    const other = await buildWorkspace(app)
    for (const client of [workspace, other]) {
      await buildWorkflow(client, { steps: [say('hello')] })
      await sendAsCustomer(client)
    }
    await sendAsCustomer(other)
    await app.work()
    await uploadText(workspace, 'Our menu')
    const today = { date: '2026-03-30', inboundMessages: 1, outboundMessages: 1, runs: 1, files: 1, fileBytes: 4096 }
    const viewer = await buildMember(workspace, 'viewer')
    expect(await listUsed('', viewer)).to.deep.equal([today])
    const { days, ...usage } = await workspace.call('GET', PATH)
    expect(days).to.have.length(30)
    expect(days.at(-1)).to.deep.equal(today)
    expect(usage).to.deep.equal({
      timezone: 'UTC',
      from: '2026-03-01',
      to: '2026-03-30',
      stored: { contacts: 1, conversations: 1, files: 1, fileBytes: 4096 },
    })
    expect(await listUsed('', other)).to.deep.equal([
      { ...NOTHING, date: '2026-03-30', inboundMessages: 2, outboundMessages: 2, runs: 2 },
    ])
  })

  it('counts what a seed inserts with times of the past, and not what was deleted since or notes of members', async () => {
    await sendAsCustomer(workspace)
    await insertMessages('inbound', ['2026-03-01T00:00:00.000Z', '2026-03-01T23:59:59.999Z'], workspace)
    await insertMessages('outbound', ['2026-03-02T00:00:00.000Z'], workspace)
    await insertMessages('internal', ['2026-03-03T12:00:00.000Z'], workspace)
    await insertMessages('inbound', ['2026-02-28T23:59:59.999Z', '2026-03-04T00:00:00.000Z'], workspace)
    const query = '?from=2026-03-01&to=2026-03-03'
    expect(await listUsed(query)).to.deep.equal([
      { ...NOTHING, date: '2026-03-01', inboundMessages: 2 },
      { ...NOTHING, date: '2026-03-02', outboundMessages: 1 },
    ])
    await app.system.db('messages').where({ tenant_id: workspace.tenantId, direction: 'outbound' }).delete()
    expect(await listUsed(query)).to.deep.equal([{ ...NOTHING, date: '2026-03-01', inboundMessages: 2 }])
  })

  it('begins days in the time zone of the workspace, also those of a clock change', async () => {
    await workspace.call('PATCH', '/api/workspace', { timezone: 'Europe/Berlin' })
    await sendAsCustomer(workspace)
    // The clocks go forward on 29 March, so this day has 23 hours.
    const times = ['2026-03-28T22:59:59.999Z', '2026-03-28T23:00:00.000Z', '2026-03-29T21:59:59.999Z']
    await insertMessages('inbound', [...times, '2026-03-29T22:00:00.000Z'], workspace)
    const { timezone, to, days } = await workspace.call('GET', `${PATH}?from=2026-03-28`)
    expect({ timezone, to }).to.deep.equal({ timezone: 'Europe/Berlin', to: '2026-03-31' })
    expect(days.map(({ inboundMessages }: { inboundMessages: number }) => inboundMessages)).to.deep.equal([1, 2, 1, 1])
  })

  it('has at most 92 days, and says which field of a period is wrong', async () => {
    expect((await workspace.call('GET', `${PATH}?from=2025-12-29&to=2026-03-30`)).days).to.have.length(92)
    expect((await workspace.call('GET', `${PATH}?to=9999-12-30`)).days).to.have.length(30)
    const refused = async (query: string) => {
      const { status, body } = await workspace.request('GET', PATH + query)
      expect([status, body.code]).to.deep.equal([400, 'validation_failed'])
      return body.details
    }
    const day = 'must be a day such as 2026-11-20'
    const years = 'must be between 2000 and 9999'
    for (const [query, path, message] of [
      ['?from=2025-12-28', 'from', 'must be at most 92 days from `to`, with both: these are 93 days'],
      ['?from=2026-03-02&to=2026-03-01', 'from', 'must not be after `to`, which is 2026-03-01'],
      ['?from=2026-03-31', 'from', 'must not be after `to`, which is 2026-03-30'],
      ['?from=2026-02-29', 'from', day],
      ['?to=2026-03-01T00:00:00Z', 'to', day],
      ['?to=1999-12-31', 'to', years],
      ['?to=9999-12-31', 'to', years],
    ] as const)
      expect(await refused(query), query).to.deep.equal([{ path, message }])
  })

  it('refuses a period with more rows than are counted, and counts fewer days', async () => {
    await sendAsCustomer(workspace)
    await insertMessages('inbound', ['2026-03-01T12:00:00Z', '2026-03-02T12:00:00Z', '2026-03-03T12:00:00Z'], workspace)
    Object.assign(app.system.portions, { ...PORTIONS, usage: 2 })
    const { status, body } = await workspace.request('GET', PATH)
    expect([status, body.code]).to.deep.equal([422, 'budget_exceeded'])
    expect(body.error).to.include('Ask for fewer days')
    expect(await listUsed('?from=2026-03-01&to=2026-03-02')).to.have.length(2)
  })

  it('needs the scope workspace:read of an API key', async () => {
    const read = async (scopes: string[]) => {
      const { key } = await workspace.call('POST', '/api/api-keys', { name: 'Key', scopes })
      return app.rest('GET', PATH, { headers: { authorization: `Bearer ${key}` } })
    }
    expect((await read(['workspace:read'])).status).to.equal(200)
    expect((await read(['messages:read'])).status).to.equal(403)
  })
})
