import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type CpuCost, measureCpuCost } from './cpu-cost.ts'
import { toEnvironment, withTempDatabase } from './database.ts'
import { FollowerClient } from './follower-client.ts'
import { formatLoadAverage, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { formatSpread, percentile } from './stats.ts'

/** Subscriptions that one user may have. */
const PER_USER = 50
const EVENTS = 20

type Size = { followers: number; rounds: number; seconds: number }
type Variant = {
  name: string
  server: ServerProcess
  path: string
  sessions: Record<string, string>[]
  costs: CpuCost[]
  delaysMs: number[]
  idleCores: number[]
}

/**
 * Measures an event that thousands of subscriptions of one workspace follow, and the same subscriptions without events,
 * compared with a plain server that reads the event once and writes it to each connection. Another process causes the
 * events.
 */
export async function benchFollowers(options: Partial<Size> = {}): Promise<string[]> {
  const size = { followers: 2000, rounds: 3, seconds: 10, ...options }
  return withTempDatabase(async (database) => {
    const initialLoad = formatLoadAverage()
    const environment = toEnvironment(database)
    const writer = await startServer('./parley-server.ts', { ...environment, ROLES: 'http' })
    const client = new BenchClient(writer.url, 1)
    await client.signUp()
    const sessions = await createMembers(
      writer.url,
      database.url,
      client.tenantId,
      Math.ceil(size.followers / PER_USER),
    )
    const parley = await startServer('./parley-server.ts', { ...environment, ROLES: 'http' })
    const baseline = await startServer('./baseline-followers.ts', {
      DATABASE_URL: database.url,
      TENANT_ID: client.tenantId,
    })
    const input = encodeURIComponent(JSON.stringify({ json: {} }))
    const variant = (name: string, server: ServerProcess, path: string): Variant => ({
      name,
      server,
      path,
      sessions,
      costs: [],
      delaysMs: [],
      idleCores: [],
    })
    const variants = [
      variant('baseline: node:http + pg', baseline, '/'),
      variant('events.follow', parley, `/api/trpc/events.follow?input=${input}`),
    ]
    const bench = { size, postmasterPid: database.postmasterPid, client }
    for (let round = 0; round < size.rounds; round += 1) for (const one of variants) await measureRound(one, bench)
    await Promise.all([parley, baseline, writer].map((server) => server.stop()))
    return [...formatReport(variants, size), `${initialLoad} before, ${formatLoadAverage()} after`]
  })
}

type Bench = { size: Size; postmasterPid: number; client: BenchClient }

async function measureRound(variant: Variant, { size, postmasterPid, client }: Bench): Promise<void> {
  const { server, path, sessions } = variant
  const followers = new FollowerClient(server.url)
  for (let index = 0; index < size.followers; index += 1)
    await followers.open({ path, headers: sessions[Math.floor(index / PER_USER)] ?? {} })
  const cause = () => client.post('/api/contacts', { name: 'Contact', phone: newPhone() })
  await followers.expectItems(1, cause)
  const pids = [server.pid]
  const startMs = performance.now()
  const idle = await measureCpuCost({ pids, postmasterPid, count: 1 }, () => delay(size.seconds * 1000))
  variant.idleCores.push(idle.nodeUs / 1000 / (performance.now() - startMs))
  variant.costs.push(
    await measureCpuCost({ pids, postmasterPid, count: EVENTS }, async () => {
      for (let event = 0; event < EVENTS; event += 1) variant.delaysMs.push(await followers.expectItems(1, cause))
    }),
  )
  followers.close()
}

function formatReport(variants: Variant[], { followers, rounds, seconds }: Size): string[] {
  const toMs = (us: number[]) => formatSpread(us.map((one) => one / 1000))
  return [
    `${followers} subscriptions to one workspace; ${rounds} rounds of ${EVENTS} events, and of ${seconds} seconds without events; median (range)`,
    ...formatTable([
      [
        'variant',
        'Node CPU ms per event',
        'Postgres CPU ms per event',
        'ms to the last, p50',
        'p95',
        'cores while idle',
      ],
      ...variants.map(({ name, costs, delaysMs, idleCores }) => [
        name,
        toMs(costs.map(({ nodeUs }) => nodeUs)),
        toMs(costs.map(({ databaseUs }) => databaseUs)),
        percentile(delaysMs, 50).toFixed(0),
        percentile(delaysMs, 95).toFixed(0),
        formatSpread(idleCores, 3),
      ]),
    ]),
  ]
}

let contacts = 0

function newPhone(): string {
  contacts += 1
  return `+4915${String(contacts).padStart(8, '0')}`
}

/** Adds users to the workspace, and returns the headers of their requests. */
async function createMembers(
  url: string,
  databaseUrl: string,
  tenantId: string,
  count: number,
): Promise<Record<string, string>[]> {
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const headers: Record<string, string>[] = []
  for (let user = 0; user < count; user += 1) {
    const client = new BenchClient(url, 1)
    await client.signUp()
    await database.query(
      `insert into memberships (workspace_id, user_id, role, created_at)
       select $1, user_id, 'viewer', now() from memberships where workspace_id = $2`,
      [tenantId, client.tenantId],
    )
    headers.push({ cookie: client.cookie, 'x-tenant-id': tenantId, 'x-forwarded-for': `10.0.0.${user + 1}` })
  }
  await database.end()
  return headers
}
