import { expect } from 'chai'
import { SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { answersIn, publish, runsOf, stepsOf, write } from '../../support/requests.ts'
import { ask, pause, say } from '../../support/steps.ts'

const on = (word: string) => [{ type: 'message_received', match: { mode: 'exact', values: [word] } }]

describe('run with corrupt state', () => {
  let app: TestApp
  let owner: TestSession
  let phones = 0

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await app.signUp()
    await publish(app, owner, { triggers: on('nap'), steps: [pause('rest'), say('awake', 'Awake')] })
    await publish(app, owner, { triggers: on('ask'), steps: [ask('name'), say('thanks', 'Thanks')] })
    await publish(app, owner, { triggers: [{ type: 'message_received' }], steps: [say('echo', '{{message.body}}!')] })
  })

  after(() => app.stop())

  function newPhone(): string {
    phones += 1
    return `+4915217${String(phones).padStart(6, '0')}`
  }

  async function startRun(phone: string, word: string): Promise<string> {
    const conversationId = await write(app, owner, phone, word)
    await app.work()
    return conversationId
  }

  async function damage(conversationId: string): Promise<void> {
    await app.system.db.raw(
      `update runs set state = state - 'visits' where tenant_id = ? and conversation_id = ? and status = 'waiting'`,
      [owner.tenantId, conversationId],
    )
  }

  async function advanceClock(seconds: number): Promise<void> {
    app.clock.advance(seconds * SECOND)
    await app.work()
  }

  const mailboxItems = () => app.system.db('mailbox_items').where({ tenant_id: owner.tenantId })

  it('is retried with backoff, then fails with the error internal, and does not block other runs', async () => {
    const [damaged, whole] = [await startRun(newPhone(), 'nap'), await startRun(newPhone(), 'nap')]
    await damage(damaged)
    await advanceClock(60)
    expect((await answersIn(app, owner, whole)).at(-1)).to.equal('Awake')
    for (const seconds of [5, 15, 45]) {
      expect((await runsOf(app, owner, `conversationId=${damaged}&status=waiting`)).length).to.equal(1)
      await advanceClock(seconds)
    }
    await advanceClock(135)
    const [run] = (await runsOf(app, owner, `conversationId=${damaged}`)).filter(({ status }) => status === 'failed')
    expect(run.error).to.include({ code: 'internal', stepId: 'rest' })
    expect((await stepsOf(app, owner, run.id)).map(({ status }) => status)).to.deep.equal(['canceled'])
    expect(await mailboxItems()).to.deep.equal([])
    expect(await app.system.db('run_waits').where({ run_id: run.id })).to.deep.equal([])
  })

  it('passes its messages on to other workflows in their order once it has failed', async () => {
    const phone = newPhone()
    const conversationId = await startRun(phone, 'ask')
    await damage(conversationId)
    await app.system.db.raw(`select graphile_worker.remove_job(?)`, [`advance:${owner.tenantId}`])
    for (const word of ['one', 'two']) await write(app, owner, phone, word)
    await app.work()
    for (const seconds of [5, 15, 45, 135]) await advanceClock(seconds)
    expect(await answersIn(app, owner, conversationId)).to.include.members(['one!', 'two!'])
    const echoes = (await answersIn(app, owner, conversationId)).filter((body) => body.endsWith('!'))
    expect(echoes).to.deep.equal(['ask!', 'one!', 'two!'])
    const failed = await runsOf(app, owner, `conversationId=${conversationId}&status=failed`)
    expect(failed.map(({ error }) => error.code)).to.deep.equal(['internal'])
    expect(await mailboxItems()).to.deep.equal([])
  })

  it('dead-letters only the invalid mailbox item and processes the items that arrived with it', async () => {
    const phone = newPhone()
    const conversationId = await startRun(phone, 'hello')
    await publish(app, owner, { triggers: [{ type: 'tag_added', tag: 'vip' }], steps: [say('never')] })
    await app.system.db('mailbox_items').insert([
      {
        tenant_id: owner.tenantId,
        mailbox_kind: 'conversation',
        mailbox_id: conversationId,
        id: '00000000-0000-7000-8000-000000000001',
        kind: 'event',
        payload: { type: 'tag_added', tag: 7 },
        due_at: app.clock.now(),
        created_at: app.clock.now(),
      },
    ])
    await write(app, owner, phone, 'again')
    await app.work()
    for (const seconds of [5, 15, 45, 135]) await advanceClock(seconds)
    expect(await answersIn(app, owner, conversationId)).to.deep.equal(['hello!', 'again!'])
    expect((await mailboxItems()).map(({ kind, attempts }) => [kind, attempts])).to.deep.equal([['event', 5]])
  })
})
