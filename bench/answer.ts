import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { BenchCaller } from './caller.ts'
import { withThrowAwayDatabase } from './database.ts'
import { FOUR_STEPS } from './four-steps.ts'
import { cpuOf, cpuOfChildren, inParallel, median, spread, table } from './measure.ts'
import { startServer } from './servers.ts'

const ROUNDS = 5
const MESSAGES = 600
const WIDTH = 32
const PEOPLE = 300

type Sample = { perSecond: number; serverUs: number; databaseUs: number }

/** Messages answered end to end by one process, against the same messages only stored, in the same run. */
export async function benchAnswer(): Promise<string[]> {
  return withThrowAwayDatabase(async ({ url, postmasterPid, dataDir }) => {
    const parley = await startServer('./parley-server.ts', {
      PORT: '0',
      DATABASE_URL: url,
      SECRET_KEY: 'ab'.repeat(32),
      TRUSTED_PROXIES: '127.0.0.1/32',
      DATA_DIR: dataDir,
    })
    const caller = new BenchCaller(parley.url, WIDTH)
    await caller.signUp()
    const { id } = await caller.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEPS })
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    const round = async (): Promise<Sample> => {
      const before = { server: cpuOf(parley.pid), database: cpuOfChildren(postmasterPid), at: performance.now() }
      await inParallel(MESSAGES, WIDTH, async (n) => {
        const phone = `+4915100${String(n % PEOPLE).padStart(5, '0')}`
        await caller.post('/api/sandbox/messages', { phone, body: `hi ${n}` })
      })
      while (await isBusy(database)) await delay(5)
      return {
        perSecond: MESSAGES / ((performance.now() - before.at) / 1000),
        serverUs: ((cpuOf(parley.pid) - before.server) * 1000) / MESSAGES,
        databaseUs: ((cpuOfChildren(postmasterPid) - before.database) * 1000) / MESSAGES,
      }
    }
    await round()
    const stored: Sample[] = []
    const answered: Sample[] = []
    for (let n = 0; n < ROUNDS; n += 1) {
      stored.push(await round())
      await caller.post(`/api/workflows/${id}/publish`, {})
      answered.push(await round())
      await caller.post(`/api/workflows/${id}/unpublish`, {})
    }
    const counts = await database.query<{ answers: number; runs: number }>(
      `select (select count(*)::int from messages where direction = 'outbound' and status = 'delivered') as answers,
         (select count(*)::int from runs where status = 'completed') as runs`,
    )
    await database.end()
    await parley.stop()
    const { answers, runs } = counts.rows[0] ?? { answers: 0, runs: 0 }
    return [
      `Inbound messages through REST, ${WIDTH} at a time, ${ROUNDS} interleaved rounds of ${MESSAGES}; median (range); ${answers} answers, ${runs} runs of ${ROUNDS * MESSAGES}`,
      ...table([
        ['variant', 'messages/s', 'server CPU µs', 'Postgres CPU µs'],
        line('stored only', stored),
        line('stored and answered, four steps', answered),
      ]),
      `stored ÷ answered, CPU in all: ${spread(answered.map((sample, n) => cost(stored[n] as Sample) / cost(sample)))}`,
    ]
  })
}

function cost({ serverUs, databaseUs }: Sample): number {
  return serverUs + databaseUs
}

function line(name: string, samples: Sample[]): string[] {
  return [
    name,
    median(samples.map(({ perSecond }) => perSecond)).toFixed(0),
    spread(
      samples.map(({ serverUs }) => serverUs),
      0,
    ),
    spread(
      samples.map(({ databaseUs }) => databaseUs),
      0,
    ),
  ]
}

async function isBusy(database: pg.Client): Promise<boolean> {
  const { rows } = await database.query<{ busy: boolean }>(
    'select exists (select from inbox) or exists (select from outbox) as busy',
  )
  return rows[0]?.busy ?? true
}
