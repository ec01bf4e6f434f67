import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchCaller } from './caller.ts'
import { environmentOf, isBusy, withThrowAwayDatabase } from './database.ts'
import { FOUR_STEPS } from './four-steps.ts'
import { costOf, type Effort, effortOf, effortRow, inParallel, spread, table } from './measure.ts'
import { startServer } from './servers.ts'

const ROUNDS = 5
const MESSAGES = 600
const WIDTH = 32
const PEOPLE = 300

/** Messages answered end to end by one process, against the same messages only stored, in the same run. */
export async function benchAnswer(): Promise<string[]> {
  return withThrowAwayDatabase(async (benchDatabase) => {
    const { url, postmasterPid } = benchDatabase
    const parley = await startServer('./parley-server.ts', environmentOf(benchDatabase))
    const caller = new BenchCaller(parley.url, WIDTH)
    await caller.signUp()
    const { id } = await caller.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEPS })
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    const round = () =>
      effortOf({ pids: [parley.pid], postmasterPid, count: MESSAGES }, async () => {
        await writeMessages(caller)
        while (await isBusy(database)) await delay(5)
      })
    await round()
    const stored: Effort[] = []
    const answered: Effort[] = []
    for (let n = 0; n < ROUNDS; n += 1) {
      stored.push(await round())
      await caller.post(`/api/workflows/${id}/publish`, {})
      answered.push(await round())
      await caller.post(`/api/workflows/${id}/unpublish`, {})
    }
    const counts = await countAnswers(database)
    await database.end()
    await parley.stop()
    return report(stored, answered, counts)
  })
}

function writeMessages(caller: BenchCaller): Promise<void> {
  return inParallel(MESSAGES, WIDTH, async (n) => {
    const phone = `+4915100${String(n % PEOPLE).padStart(5, '0')}`
    await caller.post('/api/sandbox/messages', { phone, body: `hi ${n}` })
  })
}

/** Shows that what was measured really happened. */
async function countAnswers(database: pg.Client): Promise<string> {
  const { rows } = await database.query<{ answers: number; runs: number }>(
    `select (select count(*)::int from messages where direction = 'outbound' and status = 'delivered') as answers,
       (select count(*)::int from runs where status = 'completed') as runs`,
  )
  return `${rows[0]?.answers ?? 0} answers, ${rows[0]?.runs ?? 0} runs of ${ROUNDS * MESSAGES}`
}

function report(stored: Effort[], answered: Effort[], counts: string): string[] {
  const ratios = answered.map((effort, n) => costOf(stored[n] as Effort) / costOf(effort))
  return [
    `Inbound messages through REST, ${WIDTH} at a time, ${ROUNDS} interleaved rounds of ${MESSAGES}; median (range); ${counts}`,
    ...table([
      ['variant', 'per second', 'Node CPU µs', 'Postgres CPU µs', 'CPU µs in all'],
      effortRow('stored only', stored),
      effortRow('stored and answered, four steps', answered),
    ]),
    `stored ÷ answered, CPU in all: ${spread(ratios)}`,
  ]
}
