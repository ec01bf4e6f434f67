import { expect } from 'chai'
import { fireSchedules } from '../../../src/features/schedules/fire-schedules.ts'
import { DAY, HOUR, MINUTE } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace, publishWorkflow } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { TestClock } from '../../support/clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const STOP = { id: 'done', type: 'stop' }

type StartedRun = { contact_id: string | null; status: string; trigger: { type: string; scheduledFor: string } }

describe('schedule trigger', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let clock: TestClock

  beforeEach(async () => {
    clock = new TestClock('2026-03-02T08:59:30.000Z')
    app = await startTestApp({}, clock)
    owner = await buildWorkspace(app)
  })

  afterEach(() => app.stop())

  async function publish(...triggers: object[]): Promise<string> {
    return (await buildWorkflow(owner, { triggers, steps: [STOP] }, { name: 'Daily' })).id
  }
  /** Runs started until now, oldest first. */
  async function listStartedRuns(): Promise<StartedRun[]> {
    await app.work()
    const rows = await app.system
      .db('runs')
      .where('tenant_id', owner.tenantId)
      .select<StartedRun[]>('contact_id', 'status', 'trigger')
      .orderBy('id')
    return rows
  }

  async function listScheduledTimes(): Promise<string[]> {
    return (await listStartedRuns()).map(({ trigger }) => trigger.scheduledFor.replace(':00.000Z', 'Z'))
  }

  async function createGroupWithContacts(size: number): Promise<string> {
    const group = await owner.call('POST', '/api/groups', { name: 'Members' })
    await app.system.db.raw(
      `with people as (
         insert into contacts (tenant_id, id, name, source, created_at, updated_at)
         select ?, gen_random_uuid(), 'C', 'api', now(), now() from generate_series(1, ?) returning tenant_id, id)
       insert into group_contacts (tenant_id, group_id, contact_id, created_at)
       select tenant_id, ?, id, now() from people`,
      [owner.tenantId, size, group.id],
    )
    return group.id
  }

  it('a schedule starts one run without a contact at each scheduled time and records that time', async () => {
    await publish({ type: 'schedule', cron: '0 9 * * *' })
    expect(await listStartedRuns()).to.deep.equal([])
    clock.advance(MINUTE)
    const [first] = await listStartedRuns()
    expect(first).to.deep.include({ contact_id: null, status: 'completed' })
    expect(first?.trigger).to.deep.include({ type: 'schedule', scheduledFor: '2026-03-02T09:00:00.000Z' })
    clock.advance(DAY - HOUR)
    expect(await listScheduledTimes()).to.have.length(1)
    clock.advance(HOUR)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T09:00Z', '2026-03-03T09:00Z'])
  })

  it('a cron schedule follows its timezone across a daylight-saving change', async () => {
    await publish({ type: 'schedule', cron: '30 9 * * *', timezone: 'Europe/Berlin' })
    clock.advance(27 * DAY)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-29T07:30Z'])
  })

  it('a schedule without a timezone uses the timezone of the workspace', async () => {
    await app.system.db('workspaces').where('id', owner.tenantId).update({ timezone: 'America/Sao_Paulo' })
    await publish({ type: 'schedule', cron: '0 6 * * *' })
    clock.advance(MINUTE)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T09:00Z'])
  })

  it('a schedule with at fires once', async () => {
    await publish({ type: 'schedule', at: '2026-03-02T10:00', timezone: 'Europe/Berlin' })
    clock.advance(MINUTE)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T09:00Z'])
    clock.advance(DAY)
    expect(await listScheduledTimes()).to.have.length(1)
  })

  it('a schedule whose time is in the past never fires', async () => {
    await publish({ type: 'schedule', at: '2026-03-02T08:00:00Z' })
    clock.advance(HOUR)
    expect(await listScheduledTimes()).to.deep.equal([])
  })

  it('concurrent processes start one run per scheduled time', async () => {
    await publish({ type: 'schedule', cron: '* * * * *' })
    for (let minute = 0; minute < 5; minute += 1) {
      clock.advance(MINUTE)
      await Promise.all(Array.from({ length: 8 }, () => fireSchedules(app.system)))
      // The app fires schedules, too, and the calls here leave one that it has locked to it.
      await waitUntil(async () => (await listScheduledTimes()).length > minute)
    }
    const times = await listScheduledTimes()
    expect(times).to.have.length(5)
    expect(new Set(times).size).to.equal(5)
  })

  it('a schedule starts one run for the latest of several missed times', async () => {
    await publish({ type: 'schedule', cron: '*/10 * * * *' })
    clock.advance(5 * HOUR)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T13:50Z'])
    clock.advance(10 * MINUTE)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T13:50Z', '2026-03-02T14:00Z'])
  })

  it('a schedule skips times that were missed by a day or more', async () => {
    await publish({ type: 'schedule', cron: '0 9 1,2 * *' }, { type: 'schedule', at: '2026-03-02T12:00:00Z' })
    clock.advance(2 * DAY)
    expect(await listScheduledTimes()).to.deep.equal([])
    clock.advance(28 * DAY + MINUTE)
    expect(await listScheduledTimes()).to.deep.equal(['2026-04-01T09:00Z'])
  })

  it('unpublishing a workflow stops its schedule, and publishing again does not catch up', async () => {
    const workflowId = await publish({ type: 'schedule', cron: '0 * * * *' })
    await owner.request('POST', `/api/workflows/${workflowId}/unpublish`, {})
    clock.advance(3 * HOUR)
    expect(await listScheduledTimes()).to.deep.equal([])
    await owner.request('POST', `/api/workflows/${workflowId}/publish`, {})
    clock.advance(HOUR)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T12:00Z'])
  })

  it('publishing a new version neither repeats nor loses a scheduled time', async () => {
    const workflowId = await publish({ type: 'schedule', cron: '0 9 * * *' })
    const republish = (name: string) =>
      publishWorkflow(owner, workflowId, {
        triggers: [{ type: 'schedule', cron: '0 9 * * *' }],
        steps: [{ ...STOP, name }],
      })
    clock.advance(MINUTE)
    await republish('two')
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T09:00Z'])
    await republish('three')
    expect(await listScheduledTimes()).to.have.length(1)
  })

  it('publishing a version with another schedule stops the previous one', async () => {
    const workflowId = await publish({ type: 'schedule', cron: '0 9 * * *' })
    await publishWorkflow(owner, workflowId, { triggers: [{ type: 'schedule', cron: '0 11 * * *' }], steps: [STOP] })
    clock.advance(3 * HOUR)
    expect(await listScheduledTimes()).to.deep.equal(['2026-03-02T11:00Z'])
  })

  it('a schedule with a group starts one run for each current contact of the group', async () => {
    const groupId = await createGroupWithContacts(3)
    await publish({ type: 'schedule', cron: '0 9 * * *', groupId })
    const added = await buildContact(owner)
    await owner.request('POST', `/api/groups/${groupId}/contacts`, { contactIds: [added.id] })
    clock.advance(MINUTE)
    const runs = await listStartedRuns()
    expect(runs).to.have.length(4)
    expect(runs.map(({ contact_id }) => contact_id)).to.include(added.id)
    expect(new Set(runs.map(({ contact_id }) => contact_id)).size).to.equal(4)
    clock.advance(DAY)
    expect(await listStartedRuns()).to.have.length(8)
  })

  it('a schedule interrupted in a large group resumes without skipping or repeating a contact', async () => {
    const { db } = app.system
    const groupId = await createGroupWithContacts(1200)
    await publish({ type: 'schedule', cron: '0 9 * * *', groupId })
    await db.raw(`
      create function interrupt() returns trigger language plpgsql as $$
      begin
        if (select count(*) from runs) > 700 then raise exception 'interrupted'; end if;
        return null;
      end $$;
      create trigger interrupt after insert on runs for each statement execute function interrupt()`)
    clock.advance(MINUTE)
    const selectRuns = () =>
      db('runs').where('tenant_id', owner.tenantId).select<{ contact_id: string }[]>('contact_id')
    const findPartialSchedule = () => db('schedules').whereNotNull('cursor').first()
    // The app's own periodic task may hold the schedule, so retry until a partial result is committed.
    await waitUntil(async () => {
      await fireSchedules(app.system)
      return Boolean(await findPartialSchedule())
    })
    await fireSchedules(app.system)
    expect(await selectRuns()).to.have.length(500)
    await db.raw('drop trigger interrupt on runs; drop function interrupt')
    await Promise.all(Array.from({ length: 4 }, () => fireSchedules(app.system)))
    await app.work()
    const contacts = (await selectRuns()).map(({ contact_id }) => contact_id)
    expect(contacts).to.have.length(1200)
    expect(new Set(contacts).size).to.equal(1200)
  })

  it('a failing schedule does not block other schedules', async () => {
    const { db } = app.system
    const broken = await publish({ type: 'schedule', cron: '0 9 * * *' })
    await db('schedules').where('workflow_id', broken).update({ timezone: 'Mars/Olympus', next_at: clock.now() })
    const valid = await publish({ type: 'schedule', cron: '0 9 * * *' })
    clock.advance(MINUTE)
    const selectWorkflowIds = () => db('runs').where('tenant_id', owner.tenantId).pluck('workflow_id')
    await waitUntil(async () => {
      await fireSchedules(app.system)
      return (await selectWorkflowIds()).length > 0
    })
    expect(await selectWorkflowIds()).to.deep.equal([valid])
  })

  it('publishing returns 422 for a schedule whose group belongs to another workspace', async () => {
    const other = await buildWorkspace(app, 'Other')
    const group = await other.call('POST', '/api/groups', { name: 'Theirs' })
    const triggers = [{ type: 'schedule', cron: '0 9 * * *', groupId: group.id }]
    const workflow = await buildWorkflow(owner, { triggers, steps: [STOP] }, { publish: false })
    const response = await owner.request('POST', `/api/workflows/${workflow.id}/publish`, {})
    expect(response.status).to.equal(422)
    expect(response.body).to.deep.include({ code: 'workflow_invalid' })
    expect(response.body.details[0]).to.deep.include({ code: 'unknown_group', path: 'triggers.0.groupId' })
  })
})
