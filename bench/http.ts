import pg from 'pg'
import { BenchCaller } from './caller.ts'
import { environmentOf, withThrowAwayDatabase } from './database.ts'
import { costOf, type Effort, effortOf, effortRow, inParallel, spread, table } from './measure.ts'
import { type BenchServer, startServer } from './servers.ts'

const CONTACTS = 100_000
const ROUNDS = 9
const REQUESTS = 300
const WIDTH = 8

type Variant = { name: string; path: string; server: BenchServer; samples: Effort[] }

/** A page of contacts out of 100,000 through REST and tRPC, against a bare server with the same two queries. */
export async function benchHttp(): Promise<string[]> {
  return withThrowAwayDatabase(async (database) => {
    const { url, postmasterPid } = database
    const parley = await startServer('./parley-server.ts', environmentOf(database))
    const caller = new BenchCaller(parley.url, WIDTH)
    await caller.signUp()
    await insertContacts(url, caller.tenantId)
    const bare = await startServer('./bare-server.ts', { DATABASE_URL: url, TENANT_ID: caller.tenantId })
    const input = encodeURIComponent(JSON.stringify({ json: { limit: 20 } }))
    const variants: Variant[] = [
      { name: 'bare node:http + pg', path: '/?limit=20', server: bare, samples: [] },
      { name: 'REST', path: '/api/contacts?limit=20', server: parley, samples: [] },
      { name: 'native tRPC', path: `/api/trpc/contacts.list?input=${input}`, server: parley, samples: [] },
    ]
    for (const variant of variants) await burst(caller, variant, postmasterPid)
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const variant of variants) variant.samples.push(await burst(caller, variant, postmasterPid))
    }
    await Promise.all([parley.stop(), bare.stop()])
    return report(variants)
  })
}

function report(variants: Variant[]): string[] {
  const [floor] = variants as [Variant]
  const ratio = ({ samples }: Variant, pick: (sample: Effort) => number) =>
    spread(samples.map((sample, round) => pick(floor.samples[round] as Effort) / pick(sample)))
  return [
    `GET /api/contacts?limit=20 of ${CONTACTS} contacts; ${ROUNDS} interleaved rounds of ${REQUESTS} requests, ${WIDTH} at a time; median (range)`,
    ...table([
      [
        'variant',
        'per second',
        'Node CPU µs',
        'Postgres CPU µs',
        'CPU µs in all',
        'floor ÷ it, Node',
        'floor ÷ it, in all',
      ],
      ...variants.map((variant) => [
        ...effortRow(variant.name, variant.samples),
        ratio(variant, ({ nodeUs }) => nodeUs),
        ratio(variant, costOf),
      ]),
    ]),
  ]
}

function burst(caller: BenchCaller, { path, server }: Variant, postmasterPid: number): Promise<Effort> {
  return effortOf({ pids: [server.pid], postmasterPid, count: REQUESTS }, () =>
    inParallel(REQUESTS, WIDTH, () => caller.get(path, server.url)),
  )
}

async function insertContacts(url: string, tenantId: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    `insert into contacts (tenant_id, id, name, phone, country, source, created_at, updated_at)
     select $1, gen_random_uuid(), 'Contact ' || n, '+4915' || lpad(n::text, 8, '0'), 'DE', 'api', at, at
     from generate_series(1, $2) n, lateral (select now() - n * interval '1 second' as at) t`,
    [tenantId, CONTACTS],
  )
  await client.query('vacuum analyze contacts')
  await client.end()
}
