import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { publish, runsOf, write } from '../../support/requests.ts'
import { pause } from '../../support/steps.ts'

const MANUAL = [{ type: 'manual' }]

describe('runs that start runs', () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await app.signUp()
  })

  after(() => app.stop())

  const sub = (workflowId: string, rest: object = {}) => ({ id: 'sub', type: 'run_workflow', workflowId, ...rest })

  async function start(workflowId: string): Promise<string> {
    const body = { trigger: 'manual' }
    const started = await app.rest('POST', `/api/workflows/${workflowId}/runs`, { session: owner, body })
    await app.work()
    return started.body.id
  }

  async function statusOf(workflowId: string): Promise<string[]> {
    const runs = await runsOf(app, owner, `workflowId=${workflowId}`)
    return runs.map(({ status }) => status)
  }

  describe('about nobody', () => {
    it('wait for those they started, however long, and however deep', async () => {
      const inner = await publish(app, owner, { triggers: MANUAL, steps: [pause('rest')] })
      const middle = await publish(app, owner, { triggers: MANUAL, steps: [sub(inner)] })
      const outer = await publish(app, owner, { triggers: MANUAL, steps: [sub(middle)] })
      await start(outer)
      expect(await statusOf(inner)).to.deep.equal(['waiting'])
      app.clock.advance(MINUTE)
      await app.work()
      for (const id of [inner, middle, outer]) expect(await statusOf(id)).to.deep.equal(['completed'])
    })

    it('end with the run that waits for them', async () => {
      const inner = await publish(app, owner, { triggers: MANUAL, steps: [pause('rest')] })
      const outer = await publish(app, owner, { triggers: MANUAL, steps: [sub(inner)] })
      const id = await start(outer)
      await app.rest('POST', `/api/runs/${id}/cancel`, { session: owner, body: {} })
      await app.work()
      for (const each of [inner, outer]) expect(await statusOf(each)).to.deep.equal(['canceled'])
    })

    it('are canceled by their own name', async () => {
      const inner = await publish(app, owner, { triggers: MANUAL, steps: [pause('rest')] })
      const outer = await publish(app, owner, { triggers: MANUAL, steps: [sub(inner, { onError: 'continue' })] })
      await start(outer)
      const [child] = await runsOf(app, owner, `workflowId=${inner}`)
      await app.rest('POST', `/api/runs/${child.id}/cancel`, { session: owner, body: {} })
      await app.work()
      expect([await statusOf(inner), await statusOf(outer)]).to.deep.equal([['canceled'], ['completed']])
    })
  })

  describe('which start runs', () => {
    const EMITS = [
      { id: 'one', type: 'emit', event: 'boom' },
      { id: 'two', type: 'emit', event: 'boom' },
    ]
    const BOOM = {
      triggers: [{ type: 'event', event: 'boom' }, { type: 'message_received' }],
      settings: { reentry: 'parallel' },
      steps: EMITS,
    }

    it('are twenty of a workflow in a minute, however many each of them starts', async () => {
      const workflowId = await publish(app, owner, BOOM)
      const conversationId = await write(app, owner, '+491520000001', 'hi')
      await app.work()
      // One by the customer, two by that run, and twenty by those.
      expect(await statusOf(workflowId)).to.have.length(23)
      const { body } = await app.rest('GET', `/api/conversations/${conversationId}`, { session: owner })
      const path = `/api/contacts/${body.contactId}/trigger-evaluations?workflowId=${workflowId}`
      const whyNot = await app.rest('GET', path, { session: owner })
      expect(whyNot.body.evaluations[0]).to.include({ outcome: 'cascade_rate_limited' })
    })

    it('may start others again a minute later', async () => {
      const workflowId = await publish(app, owner, BOOM)
      await write(app, owner, '+491520000002', 'hi')
      await app.work()
      app.clock.advance(MINUTE)
      await write(app, owner, '+491520000002', 'hi')
      await app.work()
      expect(await statusOf(workflowId)).to.have.length(46)
    })

    it('fail the step that runs one too many, which may try again a minute later', async () => {
      const inner = await publish(app, owner, { triggers: [], settings: { reentry: 'parallel' }, steps: [] })
      const many = {
        id: 'many',
        type: 'loop',
        while: { left: '{{contact.id}}', op: 'exists' },
        max: 21,
        steps: [sub(inner, { retry: { max: 1, delay: '1m' } })],
      }
      const middle = await publish(app, owner, { triggers: [], steps: [many] })
      await publish(app, owner, { triggers: [{ type: 'message_received' }], steps: [sub(middle)] })
      await write(app, owner, '+491520000003', 'hi')
      await app.work()
      expect(await statusOf(inner)).to.have.length(20)
      app.clock.advance(MINUTE)
      await app.work()
      expect(await statusOf(inner)).to.have.length(21)
      expect(await statusOf(middle)).to.deep.equal(['completed'])
    })
  })
})
