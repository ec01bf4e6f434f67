import { expect } from 'chai'
import type { Knex } from 'knex'
import { AUDIT_ACTIONS } from '../../../src/features/audit-events/actions.ts'
import { ORDER } from '../../../src/features/workspaces/purge-deleted-workspaces.ts'
import { listOperations, listProcedures, type Operation } from '../../../src/http/rest.ts'
import { appRouter } from '../../../src/router.ts'
import { DOWNLOADS, UPLOADS } from '../../../src/transfers.ts'
import { isUuid, newId } from '../../../src/platform/ids.ts'
import { HOUR } from '../../../src/platform/time.ts'
import { buildMember, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { findCanary } from '../../support/log-canaries.ts'
import { buildCsv } from '../../support/imports.ts'
import { uploadText } from '../../support/media.ts'
import { createResources, type Ids, INPUTS } from '../../support/procedure-inputs.ts'
import { ask, say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** Mutations that the state of the resources does not allow, so that they write nothing here. */
const CONFLICTS = [
  'broadcasts.pause',
  'broadcasts.resume',
  'broadcasts.retry',
  'messages.send',
  'runs.bulkReplay',
  'templates.submit',
  'templates.sync',
  'workflows.bulkStartRuns',
  'workflows.startRun',
]

/** Resources in the state that a mutation needs, with their IDs in place of the others. */
const PREPARATIONS: Record<string, (workspace: WorkspaceClient, ids: Ids) => Promise<object>> = {
  'contacts.import': async (workspace) => ({ mediaId: await uploadText(workspace, buildCsv(1)) }),
  // It waits for a worker, which does not see it.
  'jobs.cancel': async ({ app, tenantId }, { job }) => {
    const open = { status: 'queued', finished_at: null }
    await app.system.db('jobs').where({ tenant_id: tenantId, id: job }).update(open)
    return {}
  },
  'broadcasts.preview': approveTemplate,
  'broadcasts.estimate': approveTemplate,
  'broadcasts.sendTest': approveTemplate,
  'broadcasts.send': approveTemplate,
  'broadcasts.schedule': approveTemplate,
  'channels.delete': deleteBroadcast,
  'templates.delete': deleteBroadcast,
  'messages.cancel': async (workspace, { conversation }) => {
    const sendAt = new Date(workspace.app.clock.now().getTime() + HOUR).toISOString()
    const { id } = await workspace.call('POST', `/api/conversations/${conversation}/messages`, { body: 'B', sendAt })
    return { messageId: id }
  },
  'runs.signal': startWaitingRun,
  'runs.cancel': startWaitingRun,
  'workspace.delete': rename,
  'auth.deleteOrganization': async ({ tenantId }) => ({ organizationId: tenantId }),
  'workflows.unarchive': async (workspace, { workflow }) => {
    await workspace.call('POST', `/api/workflows/${workflow}/archive`, {})
    return {}
  },
  'workflows.delete': async (workspace) => {
    const { id } = await workspace.call('POST', '/api/workflows', { name: 'Never ran' })
    return { workflowId: id }
  },
  'workflows.rotateWebhookSecret': async (workspace) => {
    const { id } = await buildWorkflow(workspace, { triggers: [{ type: 'webhook' }], steps: [say('answer', 'Hi')] })
    return { workflowId: id }
  },
}

async function approveTemplate({ app, tenantId }: WorkspaceClient): Promise<object> {
  await app.system.db('templates').where('tenant_id', tenantId).update({ status: 'approved' })
  return {}
}

async function deleteBroadcast(workspace: WorkspaceClient, { broadcast }: Ids): Promise<object> {
  await workspace.call('DELETE', `/api/broadcasts/${broadcast}`)
  return {}
}

async function rename(workspace: WorkspaceClient): Promise<object> {
  const { name } = await workspace.call('PATCH', '/api/workspace', { name: 'with a canary' })
  return { name }
}

async function startWaitingRun(workspace: WorkspaceClient): Promise<object> {
  await buildWorkflow(workspace, { steps: [ask('question')] })
  await sendAsCustomer(workspace, { body: 'Hello' })
  await workspace.app.work()
  const { items } = await workspace.call('GET', '/api/runs?status=waiting')
  return { runId: items[0].id }
}

/** Fields of inputs that may have any text, none of which an audit event may contain. */
const FREE_TEXTS = ['name', 'description', 'title', 'body', 'text']

/** Mutations of no workspace, which write the audit events of the one that they concern. */
const WITHOUT_WORKSPACE = ['invitations.accept', 'workspaces.create']

const mutations = listOperations(appRouter).filter(({ procedure }) => procedure._def.type === 'mutation')
const DELETIONS = ['workspace.delete', 'auth.deleteOrganization']
const ofWorkspace = mutations.filter(({ meta }) => meta.role)

describe('mutations and audit events', () => {
  it('have the actions by which the list is filtered, and no others', () => {
    const ofProcedures = [...listProcedures(appRouter)].flatMap(([name, { _def }]) =>
      _def.type === 'mutation' && _def.meta?.role ? (_def.meta.action ?? name) : [],
    )
    const ofTransfers = [...DOWNLOADS, ...UPLOADS].flatMap(({ action }) => action ?? [])
    const ofSessions = ['invitations.accept', 'workspaces.create']
    const actions = new Set([...ofProcedures, ...ofTransfers, ...ofSessions])
    expect([...actions].toSorted()).to.deep.equal([...AUDIT_ACTIONS])
  })

  let app: TestApp

  before(async () => {
    app = await startTestApp()
  })
  after(() => app.stop())

  it('all mutations are of a workspace, or of an account, or write their own audit events', () => {
    const others = mutations.filter(({ meta, procedurePath }) => !meta.role && !procedurePath.startsWith('auth.'))
    expect(others.map(({ procedurePath }) => procedurePath)).to.have.members(WITHOUT_WORKSPACE)
  })

  /** Blocks the purge at its first table, so that the audit event of the deletion can be read. */
  async function blockPurge(): Promise<Knex.Transaction> {
    const blocking = await app.system.db.transaction()
    await blocking.raw(`lock table ${ORDER[0]} in share mode`)
    return blocking
  }

  async function call(
    workspace: WorkspaceClient,
    { method, path }: Operation,
    input: Record<string, unknown>,
    headers: Record<string, string>,
  ): Promise<ApiResponse> {
    const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(input[name]))
    const body = Object.fromEntries(Object.entries(input).filter(([name]) => !path.includes(`{${name}}`)))
    if (method !== 'DELETE') return workspace.request(method, url, body, headers)
    const query = new URLSearchParams(
      Object.entries(body).map(([name, value]): [string, string] => [name, String(value)]),
    )
    return workspace.request(method, `${url}?${query.toString()}`, undefined, headers)
  }

  for (const operation of ofWorkspace) {
    const { procedurePath, meta } = operation
    const expected =
      meta.unaudited === undefined ? 'writes one audit event' : `writes no audit event, as ${meta.unaudited}`

    it(`${procedurePath} ${expected}`, async () => {
      const workspace = await buildWorkspace(app)
      const ids = await createResources(workspace)
      // What is done to the owner would fail, as there is no other one.
      const { userId } = await buildMember(workspace, 'agent')
      const by = ['members.leave', 'auth.leaveOrganization'].includes(procedurePath)
        ? await buildMember(workspace, 'agent')
        : workspace
      await workspace.call('PUT', '/api/ai-provider', { baseUrl: 'https://b.example/v1', model: 'm' })
      const isOfMember = /member/i.test(procedurePath)
      const prepared = await PREPARATIONS[procedurePath]?.(workspace, ids)
      const input: Record<string, unknown> = {
        ...INPUTS[procedurePath]?.(isOfMember ? { ...ids, user: userId } : ids),
        ...prepared,
      }
      await app.system.db('audit_events').where('tenant_id', workspace.tenantId).delete()
      for (const name of FREE_TEXTS)
        if (/^[A-Z]/.test(String(input[name] ?? ''))) input[name] = `${String(input[name])} canary`
      const headers = { 'x-request-id': newId(), 'idempotency-key': newId() }
      const blocking = DELETIONS.includes(procedurePath) ? await blockPurge() : undefined
      const { status, body } = await call(by, operation, input, headers)
      const rows = await app.system.db('audit_events').where('tenant_id', workspace.tenantId)
      await blocking?.rollback()
      const isConflict = CONFLICTS.includes(procedurePath)
      expect(status >= 300, JSON.stringify(body)).to.equal(isConflict)
      expect(rows).to.have.length(isConflict || meta.unaudited !== undefined ? 0 : 1)
      const [row] = rows
      if (!row) return
      expect(row).to.include({
        action: meta.action ?? procedurePath,
        outcome: 'succeeded',
        request_id: headers['x-request-id'],
      })
      if (meta.status === 201 && 'id' in body)
        expect(row.targets.map(({ id }: { id: string }) => id)).to.include(body.id)
      const isNamed = (name: string) => operation.path.includes(`{${name}}`) || meta.action !== undefined
      const named = Object.entries(input).flatMap(([name, id]) => (isNamed(name) && isUuid(String(id)) ? [id] : []))
      for (const id of named) expect(JSON.stringify([row.targets, row.fields])).to.include(id)
      expect(findCanary(JSON.stringify([row.targets, row.fields]))).to.equal(undefined)
    })
  }
})
