import { expect } from 'chai'
import { listOperations } from '../../../src/http/rest.ts'
import { periodicTasks } from '../../../src/jobs.ts'
import { appRouter } from '../../../src/router.ts'
import { HOUR } from '../../../src/platform/time.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createResources, type Ids } from '../../support/procedure-inputs.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } }

/** Changes that give a value to each field that a PATCH changes. Several, where fields exclude each other. */
const CHANGES: Record<string, (ids: Ids, now: Date) => Record<string, unknown>[]> = {
  'contacts.update': () => [
    {
      name: 'Ana',
      phone: '+4915100000098',
      email: 'ana@shop.example',
      language: 'de',
      timezone: 'Europe/Berlin',
      fields: { plan: 'gold' },
      tags: ['vip', 'old'],
      consent: { marketing: 'opted_in' },
      blocked: true,
      externalId: 'crm-1',
    },
    { addTags: ['new'], removeTags: ['old'] },
  ],
  'conversations.update': ({ user }, now) => [
    {
      status: 'snoozed',
      snoozedUntil: new Date(now.getTime() + HOUR).toISOString(),
      assigneeId: user,
      automation: { state: 'paused' },
    },
  ],
  'workflows.update': () => [
    { key: 'w', name: 'W', description: 'D', definition: { version: 1, steps: [] }, draftRevision: 1 },
  ],
  'workflows.updateTest': () => [{ name: 'U', expectation: { status: 'completed', path: ['answer'] } }],
  'tags.update': () => [{ name: 'u', color: '#aabbcc', description: 'D' }],
  'groups.update': () => [{ name: 'H', description: 'D' }],
  'templates.update': () => [
    { name: 'sale_two', language: 'de', category: 'utility', body: 'Hello' },
    { components: [{ type: 'BODY', text: 'Hi' }] },
  ],
  'broadcasts.update': ({ template, channel, contact }) => [
    {
      name: 'C',
      description: 'D',
      channelId: channel,
      templateId: template,
      params: {},
      audience: { contactIds: [contact], recipients: [{ phone: '+4915100000097' }] },
      frequencyCap: { max: 2, hours: 168 },
      requiresOptIn: true,
    },
  ],
  'tools.update': () => [
    {
      name: 'price',
      title: 'Price',
      description: 'E',
      inputSchema: SCHEMA,
      outputSchema: SCHEMA,
      effect: 'write',
      config: { method: 'POST', url: 'https://b.example' },
      enabled: false,
    },
  ],
  'credentials.update': () => [
    {
      name: 'Store',
      placement: { type: 'header', name: 'x-store-key' },
      allowedHosts: ['store.example.com'],
      secret: 'canary-secret-of-the-store',
    },
  ],
  'apiKeys.update': ({ channel }, now) => [
    {
      name: 'L',
      scopes: ['read_only'],
      ipRanges: ['198.51.100.0/24'],
      channelIds: [channel],
      expiresAt: new Date(now.getTime() + HOUR).toISOString(),
      limitPerMinute: 5,
    },
  ],
  'members.update': () => [{ role: 'owner' }],
  'workspace.update': () => [{ name: 'W', timezone: 'Asia/Tokyo', language: 'pt_BR', country: 'JP' }],
  'channels.update': () => [
    { status: 'disconnected' },
    {
      name: 'Sales',
      phoneNumber: '+14155550100',
      wabaId: '102290129340398',
      broadcastsPerSecond: 20,
      accessToken: 'access-token-2',
      appSecret: 'b'.repeat(32),
      verifyToken: 'verify-token-2',
    },
  ],
  'webhookEndpoints.update': () => [
    { url: 'https://other.invalid/', description: 'D', types: ['message.*'], payload: 'thin', status: 'disabled' },
  ],
}

describe('a PATCH without values', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let ids: Ids

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    ids = await createResources(workspace)
    // A worker would record what becomes of its events.
    await workspace.call('PATCH', `/api/webhook-endpoints/${ids.webhookEndpoint}`, { status: 'disabled' })
  })

  after(() => app.stop())

  /** Reads all rows of the workspace but its events, without the times of their last changes and the progress of webhooks. */
  async function readRows(): Promise<Record<string, unknown[]>> {
    const { db } = app.system
    // The worker does this every few seconds.
    for (const { name, run } of periodicTasks(app.system)) if (name.startsWith('roll up')) await run()
    const { rows: tables } = await db.raw(
      `select table_name as name from information_schema.columns
       where table_schema = 'public' and column_name = 'tenant_id' and table_name not in ('events', 'event_positions') order by 1`,
    )
    const contents: Record<string, unknown[]> = {}
    for (const { name } of tables) {
      const { rows } = await db.raw(
        `select to_jsonb(t) - array['updated_at', 'position', 'claim_count'] as row from ?? t where tenant_id = ? order by to_jsonb(t)::text collate "C"`,
        [name, workspace.tenantId],
      )
      contents[name] = rows.map(({ row }: { row: unknown }) => row)
    }
    const { updated_at: _updatedAt, ...settings } = await db('workspaces').where('id', workspace.tenantId).first()
    contents['workspaces'] = [settings]
    contents['memberships'] = await db('memberships').where('workspace_id', workspace.tenantId)
    return contents
  }

  for (const { procedurePath, procedure, method, path } of listOperations(appRouter)) {
    if (method !== 'PATCH') continue
    it(`of ${path} changes nothing but the time of the last change, and one with the present values is not audited`, async () => {
      const changes = CHANGES[procedurePath]?.(ids, app.clock.now()) ?? []
      const [input] = procedure._def.inputs as [{ shape: object }]
      const fields = Object.keys(input.shape).filter((field) => !path.includes(`{${field}}`))
      expect(changes.flatMap((change) => Object.keys(change))).to.have.members(fields)
      const url = path.replaceAll(/\{(\w+)Id\}/g, (_, name: keyof Ids) => ids[name])
      for (const change of changes) await workspace.call('PATCH', url, change)
      await app.work()
      const before = await readRows()
      app.clock.advance(1000)
      const present = await workspace.call('PATCH', url, {})
      await app.work()
      for (const [table, rows] of Object.entries(await readRows())) expect(rows, table).to.deep.equal(before[table])
      // Objects of an answer have more than those of a request.
      const settable = fields.filter((field) => field in present && !JSON.stringify(present[field]).includes('{'))
      const same = Object.fromEntries(settable.map((field) => [field, present[field]]))
      await workspace.call('PATCH', url, same)
      expect((await readRows())['audit_events'], JSON.stringify(same)).to.deep.equal(before['audit_events'])
    })
  }
})
