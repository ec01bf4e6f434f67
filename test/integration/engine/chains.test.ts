import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { publish, runsOf, write } from '../../support/requests.ts'
import { pause } from '../../support/steps.ts'

const MANUAL = [{ type: 'manual' }]

describe('cascading runs', () => {
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

  async function listStatuses(workflowId: string): Promise<string[]> {
    const runs = await runsOf(app, owner, `workflowId=${workflowId}`)
    return runs.map(({ status }) => status)
  }

  describe('without a contact', () => {
    it('wait for nested child runs until those complete', async () => {
      const inner = await publish(app, owner, { triggers: MANUAL, steps: [pause('rest')] })
      const middle = await publish(app, owner, { triggers: MANUAL, steps: [sub(inner)] })
      const outer = await publish(app, owner, { triggers: MANUAL, steps: [sub(middle)] })
      await start(outer)
      expect(await listStatuses(inner)).to.deep.equal(['waiting'])
      app.clock.advance(MINUTE)
      await app.work()
      for (const id of [inner, middle, outer]) expect(await listStatuses(id)).to.deep.equal(['completed'])
    })

    it('are canceled together with the parent run', async () => {
      const inner = await publish(app, owner, { triggers: MANUAL, steps: [pause('rest')] })
      const outer = await publish(app, owner, { triggers: MANUAL, steps: [sub(inner)] })
      const id = await start(outer)
      await app.rest('POST', `/api/runs/${id}/cancel`, { session: owner, body: {} })
      await app.work()
      for (const each of [inner, outer]) expect(await listStatuses(each)).to.deep.equal(['canceled'])
    })

    it('are canceled alone when the child run is canceled, and the parent continues', async () => {
      const inner = await publish(app, owner, { triggers: MANUAL, steps: [pause('rest')] })
      const outer = await publish(app, owner, { triggers: MANUAL, steps: [sub(inner, { onError: 'continue' })] })
      await start(outer)
      const [child] = await runsOf(app, owner, `workflowId=${inner}`)
      await app.rest('POST', `/api/runs/${child.id}/cancel`, { session: owner, body: {} })
      await app.work()
      expect([await listStatuses(inner), await listStatuses(outer)]).to.deep.equal([['canceled'], ['completed']])
    })
  })

  describe('cascade limits', () => {
    const EMITS = [
      { id: 'one', type: 'emit', event: 'boom' },
      { id: 'two', type: 'emit', event: 'boom' },
    ]
    const BOOM = {
      triggers: [{ type: 'event', event: 'boom' }, { type: 'message_received' }],
      settings: { reentry: 'parallel' },
      steps: EMITS,
    }

    it('stop a workflow after 20 cascaded runs per minute with the outcome cascade_rate_limited', async () => {
      const workflowId = await publish(app, owner, BOOM)
      const conversationId = await write(app, owner, '+491520000001', 'hi')
      await app.work()
      // One run by the customer's message, two by that run, and twenty by their descendants.
      expect(await listStatuses(workflowId)).to.have.length(23)
      const { body } = await app.rest('GET', `/api/conversations/${conversationId}`, { session: owner })
      const path = `/api/contacts/${body.contactId}/trigger-evaluations?workflowId=${workflowId}`
      const evaluations = await app.rest('GET', path, { session: owner })
      expect(evaluations.body.evaluations[0]).to.include({ outcome: 'cascade_rate_limited' })
    })

    it('allow cascaded runs again a minute later', async () => {
      const workflowId = await publish(app, owner, BOOM)
      await write(app, owner, '+491520000002', 'hi')
      await app.work()
      app.clock.advance(MINUTE)
      await write(app, owner, '+491520000002', 'hi')
      await app.work()
      expect(await listStatuses(workflowId)).to.have.length(46)
    })

    it('fail the run_workflow step that exceeds the limit and allow its retry a minute later', async () => {
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
      expect(await listStatuses(inner)).to.have.length(20)
      app.clock.advance(MINUTE)
      await app.work()
      expect(await listStatuses(inner)).to.have.length(21)
      expect(await listStatuses(middle)).to.deep.equal(['completed'])
    })
  })
})
