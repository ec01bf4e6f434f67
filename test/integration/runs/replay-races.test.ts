import { expect } from 'chai'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { listRuns } from '../../support/queries.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('POST /api/runs/{runId}/replay while it is being deleted', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('hello')] })
  })

  after(() => app.stop())

  for (const mode of ['live', 'dry_run']) {
    it(`returns 404 in mode ${mode}, once the contact is deleted`, async () => {
      const { conversationId } = await sendAsCustomer(workspace)
      await app.work()
      const [run] = await listRuns(workspace, `conversationId=${conversationId}`)
      const deletion = await app.system.db.transaction()
      await deletion.raw('delete from contacts where tenant_id = ? and id = ?', [workspace.tenantId, run.contactId])
      const replay = workspace.request('POST', `/api/runs/${run.id}/replay`, { mode })
      await waitUntil(async () => (await countLockWaits(app)) > 0)
      await deletion.commit()
      const { status, body } = await replay
      expect([status, body]).to.deep.equal([
        404,
        { error: 'Run not found', code: 'not_found', docUrl: '/docs/errors#not_found' },
      ])
    })

    it(`returns 404 in mode ${mode}, once the retention has deleted the run`, async () => {
      const { conversationId } = await sendAsCustomer(workspace)
      await app.work()
      const [run] = await listRuns(workspace, `conversationId=${conversationId}`)
      const expiry = await app.system.db.transaction()
      await expiry.raw('delete from run_steps where tenant_id = ? and run_id = ?', [workspace.tenantId, run.id])
      await expiry.raw('delete from messages where tenant_id = ? and run_id = ?', [workspace.tenantId, run.id])
      await expiry.raw('delete from runs where tenant_id = ? and id = ?', [workspace.tenantId, run.id])
      const replay = workspace.request('POST', `/api/runs/${run.id}/replay`, { mode })
      await waitUntil(async () => (await countLockWaits(app)) > 0)
      await expiry.commit()
      const { status, body } = await replay
      expect([status, body]).to.deep.equal([
        404,
        { error: 'Run not found', code: 'not_found', docUrl: '/docs/errors#not_found' },
      ])
    })
  }
})
