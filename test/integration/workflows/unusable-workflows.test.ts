import { expect } from 'chai'
import { loadPublished } from '../../../src/features/automation/published-workflows.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { newId } from '../../../src/platform/ids.ts'
import { buildWorkflow, buildWorkspace, newPhone, publishWorkflow, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { exhaustAttempts } from '../../support/dead-letters.ts'
import { listRuns, listSentBodies } from '../../support/queries.ts'
import { ask, say } from '../../support/steps.ts'
import { storeVersion } from '../../support/stored-versions.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('a published workflow that cannot be executed', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  /** Inserts a workflow as a hand-written seed may, without a version. */
  async function insertPublished(version: number | null): Promise<string> {
    const [id, now] = [newId(), app.clock.now()]
    const row = { tenant_id: workspace.tenantId, id, name: 'Seeded', status: 'published', version, draft: {} }
    await app.system.db('workflows').insert({ ...row, created_at: now, updated_at: now })
    return id
  }

  async function buildDamaged(sql: string): Promise<string> {
    const { id } = await buildWorkflow(workspace, { steps: [say('hello')] })
    await storeVersion(workspace, id, sql)
    return id
  }

  const getProblems = async (id: string): Promise<string[]> =>
    (await workspace.call('GET', `/api/workflows/${id}`)).publishedProblems

  async function explainMessage(): Promise<ApiResponse['body']> {
    const { id } = await sendAsCustomer(workspace)
    await app.work()
    return workspace.call('GET', `/api/messages/${id}/explanation`)
  }

  for (const version of [null, 7]) {
    it(`is reported by GET /workflows and in explanations if its version ${version} is not stored`, async () => {
      const id = await insertPublished(version)
      expect(await getProblems(id)).to.deep.equal(['The published version is not stored'])
      const { items } = await workspace.call('GET', '/api/workflows')
      expect(items[0].publishedProblems).to.deep.equal(['The published version is not stored'])
      const { links, summary } = await explainMessage()
      expect(summary).to.equal('Started nothing: each evaluated workflow has a reason not to start')
      expect(links.at(-1)).to.include({
        type: 'evaluation',
        workflowId: id,
        outcome: 'workflow_unusable',
        message:
          'The published version could not be executed: The published version is not stored. Publish the workflow again',
      })
    })
  }

  it('is named with the damaged place, and with that reason for a contact', async () => {
    const id = await buildDamaged(`compiled - 'settings' - 'index'`)
    expect(await getProblems(id)).to.deep.equal(['The stored form is damaged at settings, index'])
    const { conversationId } = await sendAsCustomer(workspace)
    await app.work()
    const { contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`)
    const path = `/api/contacts/${contactId}/trigger-evaluations?workflowId=${id}`
    const { reasons, evaluations } = await workspace.call('GET', path)
    expect(reasons).to.deep.equal([
      {
        code: 'workflow_unusable',
        message:
          'The published version cannot be executed: The stored form is damaged at settings, index. Publish the workflow again',
      },
    ])
    for (const evaluation of evaluations) expect(evaluation).to.include({ outcome: 'workflow_unusable', version: 2 })
    expect(evaluations.map(({ event }: ApiResponse['body']) => event.type)).to.include('message_received')
  })

  it('does not prevent other workflows from answering, and answers again once it is published again', async () => {
    const id = await buildDamaged(`'{}'`)
    await buildWorkflow(workspace, { steps: [say('other')] })
    const phone = newPhone()
    const { conversationId } = await sendAsCustomer(workspace, { phone })
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['other'])
    await publishWorkflow(workspace, id, { triggers: [{ type: 'message_received' }], steps: [say('repaired')] })
    expect(await getProblems(id)).to.deep.equal([])
    await sendAsCustomer(workspace, { phone })
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.include.members(['other', 'repaired'])
  })

  it('is reported if the type of a trigger is unknown', async () => {
    const id = await buildDamaged(`jsonb_set(compiled, '{triggers,0,type}', '"telepathy"')`)
    expect(await getProblems(id)).to.deep.equal(['The trigger type telepathy is unknown'])
  })

  it('is logged once per version, not once per message', async () => {
    await insertPublished(3)
    const lines: string[] = []
    const log = createLogger('error', { write: (line) => void lines.push(line) })
    const scope = app.system.forTenant(workspace.tenantId)
    Object.defineProperty(scope, 'log', { value: log })
    await loadPublished(scope)
    await loadPublished(scope)
    expect(lines.length).to.equal(1)
    expect(JSON.parse(lines[0] ?? '')).to.include({ event: 'workflow_broken', version: 3 })
  })

  it('fails its waiting runs, and lets their messages start other workflows', async () => {
    const phone = newPhone()
    const { id } = await buildWorkflow(workspace, { steps: [ask('name')] })
    const { conversationId } = await sendAsCustomer(workspace, { phone })
    await app.work()
    await storeVersion(workspace, id, `'{}'`)
    await app.system.db('runs').where({ tenant_id: workspace.tenantId }).update({ workflow_version: 2 })
    await buildWorkflow(workspace, { steps: [say('other')] })
    await sendAsCustomer(workspace, { phone })
    await exhaustAttempts(app)
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['name?', 'other'])
    const [failed] = await listRuns(workspace, 'status=failed')
    expect(failed.error).to.include({ code: 'internal', stepId: 'name' })
    expect((await workspace.call('GET', '/api/dead-letters')).total).to.equal(0)
  })
})
