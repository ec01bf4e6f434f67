import { expect } from 'chai'
import { fireSchedules } from '../../../src/features/schedules/fire-schedules.ts'
import { DAY, HOUR, MINUTE } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { TestClock } from '../../support/clock.ts'
import { waitUntil } from '../../support/wait-until.ts'

const STOP = { id: 'done', type: 'stop' }

type Started = { contact_id: string | null; status: string; trigger: { type: string; scheduledFor: string } }

describe('a schedule', () => {
  let app: TestApp
  let session: TestSession
  let clock: TestClock

  beforeEach(async () => {
    clock = new TestClock('2026-03-02T08:59:30.000Z')
    app = await startTestApp({}, clock)
    session = await app.signUp()
  })

  afterEach(() => app.stop())

  async function publish(...triggers: object[]): Promise<string> {
    const definition = { version: 1, triggers, steps: [STOP] }
    const { body } = await app.rest('POST', '/api/workflows', { session, body: { name: 'Daily', definition } })
    const answer = await app.rest('POST', `/api/workflows/${body.id}/publish`, { session, body: {} })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return body.id
  }

  /** What has begun until now, the oldest first. */
  async function started(): Promise<Started[]> {
    await app.work()
    const rows = await app.system
      .db('runs')
      .where('tenant_id', session.tenantId)
      .select<Started[]>('contact_id', 'status', 'trigger')
      .orderBy('id')
    return rows
  }

  async function moments(): Promise<string[]> {
    return (await started()).map(({ trigger }) => trigger.scheduledFor.replace(':00.000Z', 'Z'))
  }

  async function makeGroup(size: number): Promise<string> {
    const { body } = await app.rest('POST', '/api/groups', { session, body: { name: 'Members' } })
    await app.system.db.raw(
      `with people as (
         insert into contacts (tenant_id, id, name, source, created_at, updated_at)
         select ?, gen_random_uuid(), 'C', 'api', now(), now() from generate_series(1, ?) returning tenant_id, id)
       insert into group_contacts (tenant_id, group_id, contact_id, created_at)
       select tenant_id, ?, id, now() from people`,
      [session.tenantId, size, body.id],
    )
    return body.id
  }

  it('starts one run without a contact at each of its moments, and says which it was', async () => {
    await publish({ type: 'schedule', cron: '0 9 * * *' })
    expect(await started()).to.deep.equal([])
    clock.advance(MINUTE)
    const [first] = await started()
    expect(first).to.deep.include({ contact_id: null, status: 'completed' })
    expect(first?.trigger).to.deep.include({ type: 'schedule', scheduledFor: '2026-03-02T09:00:00.000Z' })
    clock.advance(DAY - HOUR)
    expect(await moments()).to.have.length(1)
    clock.advance(HOUR)
    expect(await moments()).to.deep.equal(['2026-03-02T09:00Z', '2026-03-03T09:00Z'])
  })

  it('is read on the clocks of its zone, also on the day they change', async () => {
    await publish({ type: 'schedule', cron: '30 9 * * *', timezone: 'Europe/Berlin' })
    clock.advance(27 * DAY)
    expect(await moments()).to.deep.equal(['2026-03-29T07:30Z'])
  })

  it('is read on the clocks of the workspace, if it names no zone', async () => {
    await app.system.db('workspaces').where('id', session.tenantId).update({ timezone: 'America/Sao_Paulo' })
    await publish({ type: 'schedule', cron: '0 6 * * *' })
    clock.advance(MINUTE)
    expect(await moments()).to.deep.equal(['2026-03-02T09:00Z'])
  })

  it('with at comes once', async () => {
    await publish({ type: 'schedule', at: '2026-03-02T10:00', timezone: 'Europe/Berlin' })
    clock.advance(MINUTE)
    expect(await moments()).to.deep.equal(['2026-03-02T09:00Z'])
    clock.advance(DAY)
    expect(await moments()).to.have.length(1)
  })

  it('with a moment that is past never comes', async () => {
    await publish({ type: 'schedule', at: '2026-03-02T08:00:00Z' })
    clock.advance(HOUR)
    expect(await moments()).to.deep.equal([])
  })

  it('begins once, however many processes look', async () => {
    await publish({ type: 'schedule', cron: '* * * * *' })
    for (let minute = 0; minute < 5; minute += 1) {
      clock.advance(MINUTE)
      await Promise.all(Array.from({ length: 8 }, () => fireSchedules(app.system)))
    }
    const begun = await moments()
    expect(begun).to.have.length(5)
    expect(new Set(begun).size).to.equal(5)
  })

  it('begins once for all the moments that were missed, with the latest', async () => {
    await publish({ type: 'schedule', cron: '*/10 * * * *' })
    clock.advance(5 * HOUR)
    expect(await moments()).to.deep.equal(['2026-03-02T13:50Z'])
    clock.advance(10 * MINUTE)
    expect(await moments()).to.deep.equal(['2026-03-02T13:50Z', '2026-03-02T14:00Z'])
  })

  it('leaves out a moment that is a day ago', async () => {
    await publish({ type: 'schedule', cron: '0 9 1,2 * *' }, { type: 'schedule', at: '2026-03-02T12:00:00Z' })
    clock.advance(2 * DAY)
    expect(await moments()).to.deep.equal([])
    clock.advance(28 * DAY + MINUTE)
    expect(await moments()).to.deep.equal(['2026-04-01T09:00Z'])
  })

  it('ends when its workflow is unpublished, and does not catch up when that is published again', async () => {
    const workflowId = await publish({ type: 'schedule', cron: '0 * * * *' })
    await app.rest('POST', `/api/workflows/${workflowId}/unpublish`, { session, body: {} })
    clock.advance(3 * HOUR)
    expect(await moments()).to.deep.equal([])
    await app.rest('POST', `/api/workflows/${workflowId}/publish`, { session, body: {} })
    clock.advance(HOUR)
    expect(await moments()).to.deep.equal(['2026-03-02T12:00Z'])
  })

  it('neither repeats nor loses a moment when its workflow is published again', async () => {
    const workflowId = await publish({ type: 'schedule', cron: '0 9 * * *' })
    const republish = async (name: string) => {
      const definition = {
        version: 1,
        triggers: [{ type: 'schedule', cron: '0 9 * * *' }],
        steps: [{ ...STOP, name }],
      }
      await app.rest('PATCH', `/api/workflows/${workflowId}`, { session, body: { definition } })
      const { status } = await app.rest('POST', `/api/workflows/${workflowId}/publish`, { session, body: {} })
      expect(status).to.equal(200)
    }
    clock.advance(MINUTE)
    await republish('two')
    expect(await moments()).to.deep.equal(['2026-03-02T09:00Z'])
    await republish('three')
    expect(await moments()).to.have.length(1)
  })

  it('ends when another version leaves it out', async () => {
    const workflowId = await publish({ type: 'schedule', cron: '0 9 * * *' })
    const definition = { version: 1, triggers: [{ type: 'schedule', cron: '0 11 * * *' }], steps: [STOP] }
    await app.rest('PATCH', `/api/workflows/${workflowId}`, { session, body: { definition } })
    await app.rest('POST', `/api/workflows/${workflowId}/publish`, { session, body: {} })
    clock.advance(3 * HOUR)
    expect(await moments()).to.deep.equal(['2026-03-02T11:00Z'])
  })

  it('starts one run for each member of its group, and those who joined since', async () => {
    const groupId = await makeGroup(3)
    await publish({ type: 'schedule', cron: '0 9 * * *', groupId })
    const late = await app.rest('POST', '/api/contacts', { session, body: { name: 'Late', phone: '+14155550101' } })
    await app.rest('POST', `/api/groups/${groupId}/contacts`, { session, body: { contactIds: [late.body.id] } })
    clock.advance(MINUTE)
    const runs = await started()
    expect(runs).to.have.length(4)
    expect(runs.map(({ contact_id }) => contact_id)).to.include(late.body.id)
    expect(new Set(runs.map(({ contact_id }) => contact_id)).size).to.equal(4)
    clock.advance(DAY)
    expect(await started()).to.have.length(8)
  })

  it('goes on where it was when it breaks off in the middle of a large group', async () => {
    const { db } = app.system
    const groupId = await makeGroup(1200)
    await publish({ type: 'schedule', cron: '0 9 * * *', groupId })
    await db.raw(`
      create function break_off() returns trigger language plpgsql as $$
      begin
        if (select count(*) from runs) > 700 then raise exception 'broken off'; end if;
        return null;
      end $$;
      create trigger break_off after insert on runs for each statement execute function break_off()`)
    clock.advance(MINUTE)
    const begun = () => db('runs').where('tenant_id', session.tenantId).select<{ contact_id: string }[]>('contact_id')
    const isBegun = () => db('schedules').whereNotNull('cursor').first()
    // Another process may be at it, and what it does counts once it is committed.
    await waitUntil(async () => {
      await fireSchedules(app.system)
      return Boolean(await isBegun())
    })
    await fireSchedules(app.system)
    expect(await begun()).to.have.length(500)
    await db.raw('drop trigger break_off on runs; drop function break_off')
    await Promise.all(Array.from({ length: 4 }, () => fireSchedules(app.system)))
    await app.work()
    const contacts = (await begun()).map(({ contact_id }) => contact_id)
    expect(contacts).to.have.length(1200)
    expect(new Set(contacts).size).to.equal(1200)
  })

  it('keeps no other waiting when it fails', async () => {
    const { db } = app.system
    const broken = await publish({ type: 'schedule', cron: '0 9 * * *' })
    await db('schedules').where('workflow_id', broken).update({ timezone: 'Mars/Olympus', next_at: clock.now() })
    const sound = await publish({ type: 'schedule', cron: '0 9 * * *' })
    clock.advance(MINUTE)
    const begun = () => db('runs').where('tenant_id', session.tenantId).pluck('workflow_id')
    await waitUntil(async () => {
      await fireSchedules(app.system)
      return (await begun()).length > 0
    })
    expect(await begun()).to.deep.equal([sound])
  })

  it('is refused at publishing, if its group is not there', async () => {
    const other = await app.signUp('Other')
    const { body: group } = await app.rest('POST', '/api/groups', { session: other, body: { name: 'Theirs' } })
    const triggers = [{ type: 'api' }, { type: 'schedule', cron: '0 9 * * *', groupId: group.id }]
    const definition = { version: 1, triggers: triggers.slice(1), steps: [STOP] }
    const { body } = await app.rest('POST', '/api/workflows', { session, body: { name: 'Daily', definition } })
    const answer = await app.rest('POST', `/api/workflows/${body.id}/publish`, { session, body: {} })
    expect(answer.status).to.equal(422)
    expect(answer.body).to.deep.include({ code: 'workflow_invalid' })
    expect(answer.body.details[0]).to.deep.include({ code: 'unknown_group', path: 'triggers.0.groupId' })
  })
})
