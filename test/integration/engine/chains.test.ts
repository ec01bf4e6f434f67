import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { buildConversation, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listRuns } from '../../support/queries.ts'
import { pause } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const MANUAL = [{ type: 'manual' }]

describe('cascading runs', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const sub = (workflowId: string, rest: object = {}) => ({ id: 'sub', type: 'run_workflow', workflowId, ...rest })

  const publish = async (definition: object): Promise<string> => (await buildWorkflow(workspace, definition)).id

  async function start(workflowId: string): Promise<string> {
    const run = await workspace.call('POST', `/api/workflows/${workflowId}/runs`, { trigger: 'manual' })
    await app.work()
    return run.id
  }

  async function listStatuses(workflowId: string): Promise<string[]> {
    const runs = await listRuns(workspace, `workflowId=${workflowId}`)
    return runs.map(({ status }) => status)
  }

  describe('without a contact', () => {
    it('wait for nested child runs until those complete', async () => {
      const inner = await publish({ triggers: MANUAL, steps: [pause('rest')] })
      const middle = await publish({ triggers: MANUAL, steps: [sub(inner)] })
      const outer = await publish({ triggers: MANUAL, steps: [sub(middle)] })
      await start(outer)
      expect(await listStatuses(inner)).to.deep.equal(['waiting'])
      app.clock.advance(MINUTE)
      await app.work()
      for (const id of [inner, middle, outer]) expect(await listStatuses(id)).to.deep.equal(['completed'])
    })

    it('are canceled together with the parent run', async () => {
      const inner = await publish({ triggers: MANUAL, steps: [pause('rest')] })
      const outer = await publish({ triggers: MANUAL, steps: [sub(inner)] })
      const id = await start(outer)
      await workspace.call('POST', `/api/runs/${id}/cancel`, {})
      await app.work()
      for (const each of [inner, outer]) expect(await listStatuses(each)).to.deep.equal(['canceled'])
    })

    it('are canceled alone when the child run is canceled, and the parent continues', async () => {
      const inner = await publish({ triggers: MANUAL, steps: [pause('rest')] })
      const outer = await publish({ triggers: MANUAL, steps: [sub(inner, { onError: 'continue' })] })
      await start(outer)
      const [child] = await listRuns(workspace, `workflowId=${inner}`)
      await workspace.call('POST', `/api/runs/${child.id}/cancel`, {})
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
      const workflowId = await publish(BOOM)
      const { contactId } = await buildConversation(workspace)
      await app.work()
      // One run by the customer's message, two by that run, and twenty by their descendants.
      expect(await listStatuses(workflowId)).to.have.length(23)
      const path = `/api/contacts/${contactId}/trigger-evaluations?workflowId=${workflowId}`
      const { evaluations } = await workspace.call('GET', path)
      expect(evaluations[0]).to.include({ outcome: 'cascade_rate_limited' })
    })

    it('allow cascaded runs again a minute later', async () => {
      const workflowId = await publish(BOOM)
      const phone = newPhone()
      await sendAsCustomer(workspace, { phone })
      await app.work()
      app.clock.advance(MINUTE)
      await sendAsCustomer(workspace, { phone })
      await app.work()
      expect(await listStatuses(workflowId)).to.have.length(46)
    })

    it('fail the run_workflow step that exceeds the limit and allow its retry a minute later', async () => {
      const inner = await publish({ triggers: [], settings: { reentry: 'parallel' }, steps: [] })
      const many = {
        id: 'many',
        type: 'loop',
        while: { left: '{{contact.id}}', op: 'exists' },
        max: 21,
        steps: [sub(inner, { retry: { max: 1, delay: '1m' } })],
      }
      const middle = await publish({ triggers: [], steps: [many] })
      await publish({ triggers: [{ type: 'message_received' }], steps: [sub(middle)] })
      await sendAsCustomer(workspace)
      await app.work()
      expect(await listStatuses(inner)).to.have.length(20)
      app.clock.advance(MINUTE)
      await app.work()
      expect(await listStatuses(inner)).to.have.length(21)
      expect(await listStatuses(middle)).to.deep.equal(['completed'])
    })
  })
})
