import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { toEnvironment, withTempDatabase } from './database.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { runConcurrently } from './run-concurrently.ts'
import { startServer } from './server-process.ts'
import { formatSpread, rotate } from './stats.ts'

/** All rounds together have fewer calls than the keys of a workspace may make in a minute. */
const ROUNDS = 15
const REQUESTS = 250
const CONCURRENCY = 8

type Call = { name: string; work: (client: BenchClient) => Promise<unknown> }
type Variant = { name: string; client: BenchClient; call: Call; costs: CpuCost[] }

let contacts = 0

const CALLS: Call[] = [
  { name: 'GET /api/contacts?limit=1', work: (client) => client.get('/api/contacts?limit=1') },
  {
    name: 'POST /api/contacts',
    work: (client) => {
      contacts += 1
      return client.post('/api/contacts', { name: 'Contact', phone: `+4915${String(contacts).padStart(8, '0')}` })
    },
  },
]

/** Measures calls with an API key, compared with the same calls with the cookie of a session. */
export async function benchAccess(): Promise<string[]> {
  return withTempDatabase(async (database) => {
    const initialLoad = formatLoadAverage()
    const parley = await startServer('./parley-server.ts', { ...toEnvironment(database), ROLES: 'http' })
    const session = new BenchClient(parley.url, CONCURRENCY)
    await session.signUp()
    const { key } = await session.post<{ key: string }>('/api/api-keys', {
      name: 'Bench',
      scopes: ['contacts:read', 'contacts:write'],
      limitPerMinute: 10_000,
    })
    const program = new BenchClient(parley.url, CONCURRENCY, key)
    const variants = CALLS.flatMap((call): Variant[] => [
      { name: `session: ${call.name}`, client: session, call, costs: [] },
      { name: `API key: ${call.name}`, client: program, call, costs: [] },
    ])
    // The first round fills the caches and is not recorded.
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const { client, call, costs } of rotate(variants, round)) {
        const measured = { pids: [parley.pid], postmasterPid: database.postmasterPid, count: REQUESTS }
        const cost = await measureCpuCost(measured, () =>
          runConcurrently(REQUESTS, CONCURRENCY, async () => void (await call.work(client))),
        )
        if (round > 0) costs.push(cost)
      }
    }
    await parley.stop()
    return [...formatReport(variants), `${initialLoad} before, ${formatLoadAverage()} after`]
  })
}

function formatReport(variants: Variant[]): string[] {
  const compare = (session: Variant, variant: Variant) =>
    formatSpread(variant.costs.map((cost, round) => totalCpu(cost) / totalCpu(session.costs[round] as CpuCost)))
  const rows = variants.map((variant) => {
    const session = variants.find(({ call }) => call === variant.call) as Variant
    return [...formatCostRow(variant.name, variant.costs), variant === session ? '' : compare(session, variant)]
  })
  return [
    `${ROUNDS} interleaved rounds of ${REQUESTS} requests, concurrency ${CONCURRENCY}; median (range)`,
    ...formatTable([['variant', ...COST_COLUMNS, 'API key ÷ session, total CPU'], ...rows]),
  ]
}
