import pg from 'pg'
import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { toEnvironment, withTempDatabase } from './database.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { formatSpread, rotate } from './stats.ts'

/** Contacts of a call, the most that one may have. */
const ITEMS = 500

type Size = { rounds: number; calls: number }
type Costs = Record<Case, CpuCost[]>
type Variant = { name: string; server: ServerProcess; client: BenchClient; path: string; costs: Costs }

/** The state that a call finds: contacts that do not exist, the same ones, or the same ones with other names. */
const CASES = ['created', 'unchanged', 'updated'] as const
type Case = (typeof CASES)[number]

/** Autovacuum works on the tables of both variants, and would be a cost of the one that is measured meanwhile. */
const SETTINGS = { autovacuum: 'off' }

/**
 * Measures calls that create, repeat and change 500 contacts each, compared with a plain server that stores the same rows
 * with one statement.
 */
export async function benchBulk(options: Partial<Size> = {}): Promise<string[]> {
  const size = { rounds: 7, calls: 12, ...options }
  return withTempDatabase(async (database) => {
    const initialLoad = formatLoadAverage()
    const parley = await startServer('./parley-server.ts', { ...toEnvironment(database), ROLES: 'http' })
    const client = new BenchClient(parley.url, 1)
    await client.signUp()
    const environment = { DATABASE_URL: database.url, TENANT_ID: client.tenantId }
    const baseline = await startServer('./baseline-bulk.ts', environment)
    const toVariant = (name: string, server: ServerProcess, path: string, client: BenchClient): Variant => {
      return { name, server, client, path, costs: { created: [], unchanged: [], updated: [] } }
    }
    const variants = [
      toVariant('baseline: one statement', baseline, '/', new BenchClient(baseline.url, 1)),
      toVariant('Parley', parley, '/api/contacts/bulk', client),
    ]
    const connection = new pg.Client({ connectionString: database.url })
    await connection.connect()
    // The first round fills the caches and is not recorded.
    for (let round = 0; round <= size.rounds; round += 1) {
      for (const variant of rotate(variants, round)) await measureRound(variant, round, size, database.postmasterPid)
      await connection.query('vacuum analyze')
    }
    await Promise.all([parley.stop(), baseline.stop(), connection.end()])
    return [...formatReport(variants, size), `${initialLoad} before, ${formatLoadAverage()} after`]
  }, SETTINGS)
}

/** Measures the three cases, which build on each other. */
async function measureRound(variant: Variant, round: number, { calls }: Size, postmasterPid: number): Promise<void> {
  const { client, costs, path, server } = variant
  for (const name of CASES) {
    const bodies = Array.from({ length: calls }, (_, call) => buildBody(round * calls + call, name === 'updated'))
    const cost = await measureCpuCost({ pids: [server.pid], postmasterPid, count: calls * ITEMS }, async () => {
      for (const body of bodies) await client.postText(path, body, {})
    })
    if (round > 0) costs[name].push(cost)
  }
}

function buildBody(call: number, isRenamed: boolean): string {
  const items = Array.from({ length: ITEMS }, (_, index) => {
    const number = String(call * ITEMS + index).padStart(8, '0')
    const name = `${isRenamed ? 'Renamed' : 'Contact'} ${number}`
    return { name, phone: `+4915${number}`, email: `contact${number}@shop.example` }
  })
  return JSON.stringify({ items })
}

function formatReport([baseline, parley]: Variant[], { calls, rounds }: Size): string[] {
  const rows = CASES.map((name) => {
    const costs = { baseline: baseline?.costs[name] ?? [], parley: parley?.costs[name] ?? [] }
    const ratio = costs.baseline.map((cost, round) => totalCpu(cost) / totalCpu(costs.parley[round] as CpuCost))
    return [
      [...formatCostRow(`${baseline?.name}, ${name}`, costs.baseline), ''],
      [...formatCostRow(`Parley, ${name}`, costs.parley), formatSpread(ratio)],
    ]
  })
  return [
    `POST /api/contacts/bulk with ${ITEMS} contacts; ${rounds} interleaved rounds of ${calls} calls, one after the other; per contact, median (range)`,
    ...formatTable([['variant', ...COST_COLUMNS, 'baseline ÷ Parley, total CPU'], ...rows.flat()]),
  ]
}
