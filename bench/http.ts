import pg from 'pg'
import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { toEnvironment, withTempDatabase } from './database.ts'
import { COST_COLUMNS, formatCostRow, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { runConcurrently } from './run-concurrently.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { formatSpread } from './stats.ts'

const CONTACTS = 100_000
const ROUNDS = 9
const REQUESTS = 300
const CONCURRENCY = 8

type Variant = { name: string; path: string; server: ServerProcess; costs: CpuCost[] }

/** Measures a page of contacts out of 100,000 through REST and tRPC, compared with a baseline server with the same queries. */
export async function benchHttp(): Promise<string[]> {
  return withTempDatabase(async (database) => {
    const { url, postmasterPid } = database
    const parley = await startServer('./parley-server.ts', toEnvironment(database))
    const client = new BenchClient(parley.url, CONCURRENCY)
    await client.signUp()
    await insertContacts(url, client.tenantId)
    const baseline = await startServer('./baseline-server.ts', { DATABASE_URL: url, TENANT_ID: client.tenantId })
    const input = encodeURIComponent(JSON.stringify({ json: { limit: 20 } }))
    const variants: Variant[] = [
      { name: 'baseline: node:http + pg', path: '/?limit=20', server: baseline, costs: [] },
      { name: 'REST', path: '/api/contacts?limit=20', server: parley, costs: [] },
      { name: 'native tRPC', path: `/api/trpc/contacts.list?input=${input}`, server: parley, costs: [] },
    ]
    for (const variant of variants) await measureRequests(client, variant, postmasterPid)
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const variant of variants) variant.costs.push(await measureRequests(client, variant, postmasterPid))
    }
    await Promise.all([parley.stop(), baseline.stop()])
    return formatReport(variants)
  })
}

function formatReport(variants: Variant[]): string[] {
  const [baseline] = variants as [Variant]
  const formatRatio = ({ costs }: Variant, toCpu: (cost: CpuCost) => number) =>
    formatSpread(costs.map((cost, round) => toCpu(baseline.costs[round] as CpuCost) / toCpu(cost)))
  return [
    `GET /api/contacts?limit=20 with ${CONTACTS} contacts; ${ROUNDS} interleaved rounds of ${REQUESTS} requests, concurrency ${CONCURRENCY}; median (range)`,
    ...formatTable([
      ['variant', ...COST_COLUMNS, 'baseline ÷ variant, Node CPU', 'baseline ÷ variant, total CPU'],
      ...variants.map((variant) => [
        ...formatCostRow(variant.name, variant.costs),
        formatRatio(variant, ({ nodeUs }) => nodeUs),
        formatRatio(variant, totalCpu),
      ]),
    ]),
  ]
}

function measureRequests(client: BenchClient, { path, server }: Variant, postmasterPid: number): Promise<CpuCost> {
  return measureCpuCost({ pids: [server.pid], postmasterPid, count: REQUESTS }, () =>
    runConcurrently(REQUESTS, CONCURRENCY, () => client.get(path, server.url)),
  )
}

async function insertContacts(url: string, tenantId: string): Promise<void> {
  const database = new pg.Client({ connectionString: url })
  await database.connect()
  await database.query(
    `insert into contacts (tenant_id, id, name, phone, country, source, created_at, updated_at)
     select $1, gen_random_uuid(), 'Contact ' || n, '+4915' || lpad(n::text, 8, '0'), 'DE', 'api', at, at
     from generate_series(1, $2) n, lateral (select now() - n * interval '1 second' as at) t`,
    [tenantId, CONTACTS],
  )
  await database.query('vacuum analyze contacts')
  await database.end()
}
