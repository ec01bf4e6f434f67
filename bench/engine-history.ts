import pg from 'pg'
import { type CpuCost, totalCpu } from './cpu-cost.ts'
import { type BenchDatabase, withTempDatabase } from './database.ts'
import { EngineBench, type Size } from './engine-bench.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { insertPastRuns } from './past-runs.ts'
import { formatSpread, sum } from './stats.ts'

const FEW_RUNS = 10_000

/** A database with past runs and its samples; `totalCosts` are the CPU costs of all stages of a round. */
type History = { runs: number; bench: EngineBench; advanceCosts: CpuCost[]; totalCosts: number[]; databaseSize: string }

/** Measures the cost of a run in a database with few past runs and in one with many, both on the same server. */
export function benchEngineHistory(options: Partial<Size> & { runs?: number } = {}): Promise<string[]> {
  const { rounds, runs, ...size } = { workspaces: 20, backlog: 200, rounds: 5, runs: 10_000_000, ...options }
  const initialLoad = formatLoadAverage()
  return withTempDatabase(async (server) => {
    // One additional round warms up, and another one creates the run that past runs are copied from.
    const benchSize = { ...size, rounds: rounds + 2 }
    const few = await openHistory(await createDatabase(server, 'few'), FEW_RUNS, benchSize)
    const many = await openHistory(await createDatabase(server, 'many'), runs, benchSize)
    try {
      for (let round = 0; round <= rounds; round += 1) {
        for (const history of round % 2 === 0 ? [few, many] : [many, few]) {
          await runRound(history, { isRecorded: round > 0 })
        }
      }
      const formatRatio = (toCosts: (history: History) => number[]) =>
        formatSpread(toCosts(many).map((cost, round) => cost / (toCosts(few)[round] ?? 0)))
      return [
        `Runs of trigger → branch → tag → set → send on top of past runs, ${few.bench.count} messages per round; median (range) of ${rounds} interleaved rounds, one worker`,
        ...formatTable([
          ['past runs', ...COST_COLUMNS, 'database size'],
          ...[few, many].map((history) => [
            ...formatCostRow(String(history.runs), history.advanceCosts),
            history.databaseSize,
          ]),
        ]),
        `many ÷ few, CPU: advance ${formatRatio(({ advanceCosts }) => advanceCosts.map(totalCpu))}, all stages ${formatRatio(({ totalCosts }) => totalCosts)}`,
        `${initialLoad} before, ${formatLoadAverage()} after`,
      ]
    } finally {
      await few.bench.close()
      await many.bench.close()
    }
  })
}

async function runRound(history: History, { isRecorded }: { isRecorded: boolean }): Promise<void> {
  const { bench, advanceCosts, totalCosts } = history
  const ingestCost = await bench.ingest()
  const advanceCost = await bench.advance(1)
  const sendCost = await bench.send()
  if (!isRecorded) return
  advanceCosts.push(advanceCost)
  totalCosts.push(sum([ingestCost, advanceCost, sendCost].map(totalCpu)))
}

async function openHistory(database: BenchDatabase, runs: number, size: Size): Promise<History> {
  const bench = await EngineBench.open(database, size)
  const history: History = { runs, bench, advanceCosts: [], totalCosts: [], databaseSize: '' }
  // Creates real runs, of which the past runs are copies.
  await runRound(history, { isRecorded: false })
  await insertPastRuns(database.adminUrl, runs)
  const { rows } = await bench.database.query<{ size: string }>(
    'select pg_size_pretty(pg_database_size(current_database())) as size',
  )
  return { ...history, databaseSize: rows[0]?.size ?? '' }
}

async function createDatabase(server: BenchDatabase, name: string): Promise<BenchDatabase> {
  const withName = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href
  const admin = new pg.Client({ connectionString: server.adminUrl })
  await admin.connect()
  await admin.query(`create database ${name} owner ${new URL(server.url).username}`)
  await admin.end()
  return { ...server, url: withName(server.url), adminUrl: withName(server.adminUrl) }
}
