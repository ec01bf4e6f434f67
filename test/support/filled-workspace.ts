import type pg from 'pg'
import { fillWorkspace } from '../../bench/fill-workspace.ts'
import { recount } from '../../src/features/counts/maintain-counts.ts'
import { buildTemplate, buildWorkflow, buildWorkspace, sendAsCustomer } from '../factories.ts'
import type { TestApp } from './app.ts'

/** Builds a workspace with many contacts, conversations, runs and recipients, as `fillWorkspace` describes. */
export async function buildFilledWorkspace(app: TestApp, database: pg.Client, contacts: number) {
  const workspace = await buildWorkspace(app)
  const { tenantId, userId } = workspace
  const workflow = await buildWorkflow(workspace, {
    steps: [{ id: 'a', type: 'send_message', message: { body: 'Hi' } }],
  })
  await sendAsCustomer(workspace)
  await app.work()
  const template = await buildTemplate(workspace, { category: 'utility' })
  const broadcast = await workspace.call('POST', '/api/broadcasts', { name: 'All', templateId: template.id })
  await fillWorkspace(database, { tenantId, userId, broadcastId: broadcast.id, contacts, now: app.clock.now() })
  await recount(app.system.db, tenantId)
  return { workspace, workflow, template, broadcast }
}
