import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { recount } from '../src/features/counts/maintain-counts.ts'
import { closeDatabase, openDatabase } from '../src/platform/database/database.ts'
import { DAY } from '../src/platform/time.ts'
import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { type BenchDatabase, hasPendingWork, toEnvironment, withTempDatabase } from './database.ts'
import { fillWorkspace, withoutIndexes } from './fill-workspace.ts'
import { formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { median } from './stats.ts'

const CONTACTS = 10_000
const LARGE = 1_000_000
const ROUNDS = 3
const REQUESTS = 30
const MESSAGES = 100

type Site = {
  contacts: number
  client: BenchClient
  server: ServerProcess
  postmasterPid: number
  database: pg.Client
  ids: { group: string; broadcast: string; user: string; workflow: string }
}

type Operation = { name: string; count: number; run: (site: Site, index: number) => Promise<unknown> }

const get = (name: string, toPath: (site: Site, index: number) => string): Operation => ({
  name,
  count: REQUESTS,
  run: (site, index) => site.client.get(toPath(site, index)),
})

/** Offsets of different pages, from 40 to 60 percent of the rows. */
function toMiddleOffset(rows: number, index: number): number {
  return Math.floor(rows * (0.4 + (0.2 * index) / REQUESTS))
}

let nextNumber = 100_000_000

/** A message of a customer; the last one waits until all are answered. */
const write = (name: string, toPhone: (index: number) => string): Operation => ({
  name,
  count: MESSAGES,
  run: async ({ client, database }, index) => {
    await client.post('/api/sandbox/messages', { phone: toPhone(index), body: 'Hello' })
    if (index === MESSAGES - 1) while (await hasPendingWork(database)) await delay(5)
  },
})

const OPERATIONS: Operation[] = [
  get('contacts: first page', () => '/api/contacts'),
  get(
    'contacts: offset in the middle',
    ({ contacts }, index) => `/api/contacts?offset=${toMiddleOffset(contacts, index)}`,
  ),
  get('contacts: last page', ({ contacts }) => `/api/contacts?offset=${contacts - 20}`),
  get('contacts: by name', () => '/api/contacts?sort=name'),
  get('contacts: q of nobody', () => '/api/contacts?q=zzzyx'),
  get('contacts: q of one', () => `/api/contacts?q=${encodeURIComponent('person77@')}`),
  get('contacts: q of many', () => '/api/contacts?q=silva'),
  get('contacts: q of two letters', () => '/api/contacts?q=an'),
  get('contacts: phone', () => `/api/contacts?phone=${encodeURIComponent('+49151100000042')}`),
  get('contacts: rare tag', () => '/api/contacts?tag=rare'),
  get('contacts: common tag', () => '/api/contacts?tag=common'),
  get('contacts: group', ({ ids }) => `/api/contacts?groupId=${ids.group}`),
  get('group: first page', ({ ids }) => `/api/groups/${ids.group}/contacts`),
  get(
    'group: offset in the middle',
    ({ ids, contacts }, index) => `/api/groups/${ids.group}/contacts?offset=${toMiddleOffset(contacts / 20, index)}`,
  ),
  get('group: last page', ({ ids, contacts }) => `/api/groups/${ids.group}/contacts?offset=${contacts / 20 - 20}`),
  get('groups', () => '/api/groups'),
  get('tags', () => '/api/tags'),
  get('conversations: first page', () => '/api/conversations'),
  get(
    'conversations: offset in the middle',
    ({ contacts }, index) => `/api/conversations?offset=${toMiddleOffset(contacts / 2, index)}`,
  ),
  get('conversations: last page', ({ contacts }) => `/api/conversations?offset=${contacts / 2 - 20}`),
  get('conversations: active', () => '/api/conversations?status=active'),
  get('conversations: closed', () => '/api/conversations?status=closed'),
  get('conversations: unread', () => '/api/conversations?unread=true'),
  get('conversations: read', () => '/api/conversations?unread=false'),
  get('conversations: assignee', ({ ids }) => `/api/conversations?assigneeId=${ids.user}`),
  get('conversations: assignee, active', ({ ids }) => `/api/conversations?assigneeId=${ids.user}&status=active`),
  get(
    'conversations: assignee, unread, active',
    ({ ids }) => `/api/conversations?unread=true&status=active&assigneeId=${ids.user}`,
  ),
  get('conversations: open window', () => '/api/conversations?windowOpen=true'),
  get('conversations: closed window', () => '/api/conversations?windowOpen=false'),
  get('runs: first page', () => '/api/runs'),
  get('runs: offset in the middle', ({ contacts }, index) => `/api/runs?offset=${toMiddleOffset(contacts, index)}`),
  get('runs: last page', ({ contacts }) => `/api/runs?offset=${contacts - 20}`),
  get('runs: failed', () => '/api/runs?status=failed'),
  get('runs: waiting for a timer', () => '/api/runs?waitingFor=timer'),
  get('runs: of a workflow', ({ ids }) => `/api/runs?workflowId=${ids.workflow}`),
  get('runs: completed since a time', () => '/api/runs?status=completed&createdAfter=2020-01-01T00:00:00Z'),
  get('recipients: first page', ({ ids }) => `/api/broadcasts/${ids.broadcast}/recipients`),
  get('recipients: failed', ({ ids }) => `/api/broadcasts/${ids.broadcast}/recipients?status=failed`),
  get('broadcasts', () => '/api/broadcasts'),
  get(
    'recipients: offset in the middle',
    ({ ids, contacts }, index) =>
      `/api/broadcasts/${ids.broadcast}/recipients?offset=${toMiddleOffset(contacts, index)}`,
  ),
  get(
    'recipients: last page',
    ({ ids, contacts }) => `/api/broadcasts/${ids.broadcast}/recipients?offset=${contacts - 20}`,
  ),
  write('customer writes, and is answered', (index) => `+49151${100_000_000 + 2 * index + 2}`),
  write('new customer writes, and is answered', () => `+49152${(nextNumber += 1)}`),
]

/** Compares every list, filter, search and depth, and the answer to a message, between a small and a large workspace. */
export async function benchGrowth({ large = LARGE, rounds = ROUNDS }: Record<string, number>): Promise<string[]> {
  return withTempDatabase((first) =>
    withTempDatabase(async (second) => {
      const sites = [await buildSite(first, CONTACTS), await buildSite(second, large)]
      const costs = new Map<string, CpuCost[][]>(OPERATIONS.map(({ name }) => [name, [[], []]]))
      for (let round = 0; round <= rounds; round += 1) {
        for (const operation of OPERATIONS) {
          for (const [index, site] of sites.entries()) {
            const cost = await measure(operation, site)
            // The first round fills the caches.
            if (round > 0) costs.get(operation.name)?.[index]?.push(cost)
          }
        }
      }
      for (const { server, database } of sites) {
        await server.stop()
        await database.end()
      }
      return formatReport(costs, large, rounds)
    }),
  )
}

async function buildSite(temp: BenchDatabase, contacts: number): Promise<Site> {
  const server = await startServer('./parley-server.ts', toEnvironment(temp))
  const client = new BenchClient(server.url, 4)
  await client.signUp()
  const answer = { id: 'a', type: 'send_message', message: { body: 'Hi' } }
  const definition = { version: 1, triggers: [{ type: 'message_received', match: { mode: 'any' } }], steps: [answer] }
  const workflow = await client.post<{ id: string }>('/api/workflows', { name: 'Answer', definition })
  await client.post(`/api/workflows/${workflow.id}/publish`, {})
  const { items } = await client.getJson<{ items: { id: string }[] }>('/api/channels')
  const template = await client.post<{ id: string }>('/api/templates', {
    channelId: items[0]?.id,
    name: 'offer',
    language: 'en',
    category: 'marketing',
    body: 'Hi',
  })
  const broadcast = await client.post<{ id: string }>('/api/broadcasts', { name: 'All', templateId: template.id })
  const adminUrl = new URL(temp.adminUrl)
  adminUrl.pathname = new URL(temp.url).pathname
  const database = new pg.Client({ connectionString: adminUrl.href })
  // The server ends the connection if the benchmark fails, whose error is the one to report.
  database.on('error', () => {})
  await database.connect()
  await client.post('/api/sandbox/messages', { phone: '+4915799999999', body: 'Hello' })
  while (await hasPendingWork(database)) await delay(5)
  const { tenantId } = client
  const { rows } = await database.query<{ id: string }>(
    'select user_id as id from memberships where workspace_id = $1',
    [tenantId],
  )
  const user = rows[0]?.id ?? ''
  await withoutIndexes(database, () =>
    fillWorkspace(database, { tenantId, userId: user, broadcastId: broadcast.id, contacts, now: new Date() }),
  )
  // Triggers count no rows while a workspace is filled.
  const db = openDatabase(temp.url, { connections: 1, statementTimeoutMs: DAY })
  await recount(db, tenantId)
  await closeDatabase(db)
  await database.query('vacuum analyze')
  await database.query('checkpoint')
  const group = (await client.getJson<{ items: { id: string }[] }>('/api/groups')).items[0]?.id ?? ''
  const ids = { group, broadcast: broadcast.id, user, workflow: workflow.id }
  return { contacts, client, server, postmasterPid: temp.postmasterPid, database, ids }
}

function measure({ count, run }: Operation, site: Site): Promise<CpuCost> {
  const { server, postmasterPid } = site
  return measureCpuCost({ pids: [server.pid], postmasterPid, count }, async () => {
    for (let index = 0; index < count; index += 1) await run(site, index)
  })
}

function formatReport(costs: Map<string, CpuCost[][]>, large: number, rounds: number): string[] {
  const rows = [...costs].map(([name, [small = [], big = []]]) => {
    const ratios = big.map((cost, round) => totalCpu(cost) / totalCpu(small[round] ?? cost))
    const toMs = (values: number[]) => (median(values) / 1000).toFixed(2)
    const toColumns = (list: CpuCost[]) => [toMs(list.map(totalCpu)), toMs(list.map(({ databaseUs }) => databaseUs))]
    return [name, ...toColumns(small), ...toColumns(big), median(ratios).toFixed(2)]
  })
  return [
    `CPU of Node and Postgres per operation in ms, ${rounds} interleaved rounds, median`,
    ...formatTable([
      ['operation', `${CONTACTS} contacts`, 'of it Postgres', `${large} contacts`, 'of it Postgres', 'ratio'],
      ...rows,
    ]),
  ]
}
