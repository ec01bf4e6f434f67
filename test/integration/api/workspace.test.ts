import { expect } from 'chai'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import {
  buildContact,
  buildMember,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  sendAsCustomer,
} from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { TestClock } from '../../support/clock.ts'
import { listMessages } from '../../support/queries.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PATH = '/api/workspace'

describe('workspace settings', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let clock: TestClock

  beforeEach(async () => {
    clock = new TestClock('2026-03-02T08:59:30.000Z')
    app = await startTestApp({}, clock)
    owner = await buildWorkspace(app)
  })

  afterEach(() => app.stop())

  async function listScheduledTimes(): Promise<string[]> {
    await app.work()
    const runs: { trigger: { scheduledFor: string } }[] = await app.system
      .db('runs')
      .where('tenant_id', owner.tenantId)
      .orderBy('id')
      .select('trigger')
    return runs.map(({ trigger }) => trigger.scheduledFor)
  }

  async function publish(...triggers: object[]): Promise<void> {
    await buildWorkflow(owner, {
      triggers: triggers.map((trigger) => ({ type: 'schedule', ...trigger })),
      steps: [{ id: 'done', type: 'stop' }],
    })
  }

  it('GET /api/workspace returns a new workspace in UTC without a language and a country', async () => {
    const viewer = await buildMember(owner, 'viewer')
    const at = clock.now().toISOString()
    expect(await viewer.call('GET', PATH)).to.deep.equal({
      id: owner.tenantId,
      name: "Ada's workspace",
      timezone: 'UTC',
      language: null,
      country: null,
      createdAt: at,
      updatedAt: at,
    })
  })

  it('PATCH /api/workspace changes the named fields and keeps the others', async () => {
    const admin = await buildMember(owner, 'admin')
    await admin.call('PATCH', PATH, { name: ' Casa Verde ', timezone: 'America/Sao_Paulo', country: 'BR' })
    clock.advance(SECOND)
    const changed = await admin.call('PATCH', PATH, { language: 'pt_BR', country: null })
    expect(changed).to.include({ name: 'Casa Verde', timezone: 'America/Sao_Paulo', language: 'pt_BR', country: null })
    expect(changed.updatedAt).to.equal(clock.now().toISOString())
    expect(await owner.call('GET', PATH)).to.deep.equal(changed)
  })

  it('PATCH /api/workspace rejects unknown time zones, languages and countries, and roles below admin', async () => {
    for (const body of [
      { timezone: 'Europe/Atlantis' },
      { timezone: null },
      { language: 'pt-BR' },
      { country: 'XX' },
      { country: 'br' },
      { name: ' ' },
    ]) {
      expect((await owner.request('PATCH', PATH, body)).body, JSON.stringify(body)).to.include({
        code: 'validation_failed',
      })
    }
    const { body } = await owner.request('PATCH', PATH, { country: 'br' })
    expect(body.details).to.deep.equal([{ path: 'country', message: 'must be an ISO 3166-1 alpha-2 code such as BR' }])
    const agent = await buildMember(owner, 'agent')
    expect((await agent.request('PATCH', PATH, { name: 'Mine' })).status).to.equal(403)
    expect(await owner.call('GET', PATH)).to.include({ name: "Ada's workspace", timezone: 'UTC' })
  })

  it('a change of the time zone moves published schedules that follow it and no others', async () => {
    await publish({ cron: '0 9 * * *' }, { cron: '0 10 * * *', timezone: 'UTC' }, { cron: '0 10 * * *' })
    await owner.call('PATCH', PATH, { timezone: 'America/Sao_Paulo' })
    clock.advance(MINUTE)
    expect(await listScheduledTimes()).to.deep.equal([])
    clock.advance(HOUR)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T10:00:00.000Z'])
    clock.advance(2 * HOUR)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T10:00:00.000Z', '2026-03-02T12:00:00.000Z'])
    clock.advance(HOUR)
    expect(await listScheduledTimes()).to.have.length(3)
  })

  it('a change of the time zone starts an occurrence that is due, and none that is over', async () => {
    await publish({ cron: '0 9 * * *' }, { at: '2026-03-02T08:59:40' })
    clock.advance(15 * SECOND)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T08:59:40.000Z'])
    // Due, and not started yet.
    await app.system.db('schedules').whereNotNull('cron').update({ next_at: clock.now() })
    const due = clock.now().toISOString()
    await owner.call('PATCH', PATH, { timezone: 'America/Sao_Paulo' })
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T08:59:40.000Z', due])
    clock.advance(3 * HOUR + MINUTE)
    expect(await listScheduledTimes()).to.have.length(3)
    expect((await listScheduledTimes()).at(-1)).to.equal('2026-03-02T12:00:00.000Z')
  })

  for (const [timezone, later, next] of [
    ['UTC', 3, 1],
    ['America/Sao_Paulo', 2, 2],
  ] as const) {
    it(`a change of the time zone starts an occurrence that is due once, beside a trigger of ${timezone}`, async () => {
      await publish({ cron: '0 9 * * *' }, { cron: '0 9 * * *', timezone })
      const due = clock.now().toISOString()
      await app.system.db('schedules').where('timezone', 'UTC').update({ next_at: clock.now() })
      await owner.call('PATCH', PATH, { timezone: 'America/Sao_Paulo' })
      expect(await listScheduledTimes()).to.deep.equal([due])
      clock.advance(3 * HOUR + MINUTE)
      expect(await listScheduledTimes()).to.have.length(later)
      clock.advance(3 * HOUR)
      expect(await listScheduledTimes()).to.have.length(later)
      await owner.call('PATCH', PATH, { timezone: 'UTC' })
      clock.advance(DAY)
      expect(await listScheduledTimes()).to.have.length(later + next)
    })
  }

  it('schedules that are published or unpublished while the time zone changes are in the new one, or gone', async () => {
    for (const timezone of ['Asia/Tokyo', 'Europe/Paris', 'Asia/Tokyo', 'Europe/Paris']) {
      const definition = { triggers: [{ type: 'schedule', cron: '0 9 * * *' }], steps: [{ id: 'done', type: 'stop' }] }
      const removed = await buildWorkflow(owner, definition)
      const added = await buildWorkflow(owner, definition, { publish: false })
      const answers = await Promise.all([
        owner.request('PATCH', PATH, { timezone }),
        owner.request('POST', `/api/workflows/${removed.id}/unpublish`, {}),
        owner.request('POST', `/api/workflows/${added.id}/publish`, {}),
      ])
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200])
      const schedules = await app.system.db('schedules').whereIn('workflow_id', [removed.id, added.id])
      expect(schedules.map((row) => [row.workflow_id, row.timezone])).to.deep.equal([[added.id, timezone]])
    }
  })

  it('the next message of a customer is answered with the changed settings', async () => {
    await buildWorkflow(owner, {
      steps: [
        {
          id: 'answer',
          type: 'send_message',
          message: {
            body: '{{workspace.name}} {{workspace.language}} {{workspace.country}} {{now | date: "%H:%M"}}',
          },
        },
      ],
    })
    await owner.call('PATCH', PATH, { name: 'Kyoto', timezone: 'Asia/Tokyo', language: 'ja', country: 'JP' })
    const { conversationId } = await sendAsCustomer(owner)
    await app.work()
    const [, answer] = await listMessages(owner, conversationId)
    expect(answer.body).to.equal('Kyoto ja JP 17:59')
  })

  it('previews of broadcasts to unknown numbers have the settings of the workspace', async () => {
    const { id: templateId } = await buildTemplate(owner, { body: 'Hi {{name}}' })
    await app.system.db('templates').where('id', templateId).update({ status: 'approved' })
    await owner.call('PATCH', PATH, { name: 'Kyoto', timezone: 'Asia/Tokyo', country: 'JP' })
    const { id } = await owner.call('POST', '/api/broadcasts', {
      name: 'Sale',
      templateId,
      params: {
        name: '{{workspace.name}} {{workspace.country}} {{"2026-03-02T00:00:00Z" | date: "%H:%M"}} {{contact.country}}',
      },
      // A country with several time zones.
      audience: { recipients: [{ phone: '+12025550143' }] },
    })
    const { items } = await owner.call('POST', `/api/broadcasts/${id}/preview`, {})
    expect(items[0].body).to.equal('Hi Kyoto JP 09:00 US')
  })

  it('keyword confirmations are in the language of the workspace unless the keywords name another', async () => {
    const confirm = async () => {
      const { id } = await buildContact(owner)
      const { conversationId } = await sendAsCustomer(owner, { contactId: id, body: 'STOP' })
      await app.work()
      return (await listMessages(owner, conversationId)).at(-1).body
    }
    expect(await confirm()).to.match(/^You will not receive/)
    await owner.call('PATCH', PATH, { language: 'pt_BR' })
    expect(await confirm()).to.match(/^Você não receberá/)
    expect(await owner.call('PUT', `${PATH}/consent-keywords`, {})).to.include({ language: 'pt' })
    await owner.call('PUT', `${PATH}/consent-keywords`, { language: 'de' })
    expect(await confirm()).to.match(/^Sie erhalten keine/)
  })

  it('the sample contact of a simulation has the country and the language of the workspace', async () => {
    const { id } = await buildWorkflow(owner, {
      steps: [{ id: 'answer', type: 'send_message', message: { body: '{{contact.country}} {{contact.language}}' } }],
    })
    await owner.call('PATCH', PATH, { timezone: 'Europe/Paris', language: 'pt_BR', country: 'PT' })
    const { transcript } = await owner.call('POST', `/api/workflows/${id}/simulate`, {
      dialogue: [{ type: 'message', body: 'Hello' }],
    })
    expect(JSON.stringify(transcript)).to.contain('PT pt-BR')
  })
})
