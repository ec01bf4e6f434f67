import pg from 'pg'
import { type BenchDatabase, withThrowAwayDatabase } from './database.ts'
import { EngineBench, type Size } from './engine-bench.ts'
import { costOf, type Effort, effortRow, loadOfMachine, spread, table } from './measure.ts'
import { insertPastRuns } from './past-runs.ts'

const FEW = 10_000

type History = { runs: number; bench: EngineBench; advanced: Effort[]; whole: number[]; bytes: string }

/** What a run costs in a database with few past runs and in one with many, both on one server. */
export function benchEngineHistory(given: Partial<Size> & { runs?: number } = {}): Promise<string[]> {
  const { rounds, runs, ...size } = { workspaces: 20, backlog: 200, rounds: 5, runs: 10_000_000, ...given }
  const load = loadOfMachine()
  return withThrowAwayDatabase(async (database) => {
    const few = await openHistory(await createDatabase(database, 'few'), FEW, { ...size, rounds: rounds + 2 })
    const many = await openHistory(await createDatabase(database, 'many'), runs, { ...size, rounds: rounds + 2 })
    try {
      for (let round = 0; round <= rounds; round += 1) {
        for (const history of round % 2 === 0 ? [few, many] : [many, few]) await playRound(history, round > 0)
      }
      const ratio = (of: (history: History) => number[]) => spread(of(many).map((cost, n) => cost / (of(few)[n] ?? 0)))
      return [
        `Runs of trigger → branch → tag → set → send on top of past runs, ${few.bench.count} messages a round; median (range) of ${rounds} interleaved rounds, one worker`,
        ...table([
          ['past runs', 'runs per second', 'Node CPU µs', 'Postgres CPU µs', 'CPU µs in all', 'database'],
          ...[few, many].map((history) => [...effortRow(String(history.runs), history.advanced), history.bytes]),
        ]),
        `many ÷ few, CPU: advance ${ratio(({ advanced }) => advanced.map(costOf))}, ingest to sent ${ratio(({ whole }) => whole)}`,
        `${load} before, ${loadOfMachine()} after`,
      ]
    } finally {
      await few.bench.close()
      await many.bench.close()
    }
  })
}

async function playRound({ bench, advanced, whole }: History, counts: boolean): Promise<void> {
  const stages = [await bench.ingest(), await bench.advance(1), await bench.send()]
  if (!counts) return
  advanced.push(stages[1] as Effort)
  whole.push(stages.reduce((sum, stage) => sum + costOf(stage), 0))
}

async function openHistory(database: BenchDatabase, runs: number, size: Size): Promise<History> {
  const bench = await EngineBench.open(database, size)
  // One round of real runs, of which those of the past are copies.
  await playRound({ runs, bench, advanced: [], whole: [], bytes: '' }, false)
  await insertPastRuns(database.adminUrl, runs)
  const { rows } = await bench.database.query<{ bytes: string }>(
    'select pg_size_pretty(pg_database_size(current_database())) as bytes',
  )
  return { runs, bench, advanced: [], whole: [], bytes: rows[0]?.bytes ?? '' }
}

async function createDatabase(server: BenchDatabase, name: string): Promise<BenchDatabase> {
  const named = (text: string) => Object.assign(new URL(text), { pathname: `/${name}` }).href
  const admin = new pg.Client({ connectionString: server.adminUrl })
  await admin.connect()
  await admin.query(`create database ${name} owner ${new URL(server.url).username}`)
  await admin.end()
  return { ...server, url: named(server.url), adminUrl: named(server.adminUrl) }
}
