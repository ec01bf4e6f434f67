import pg from 'pg'
import { BenchCaller } from './caller.ts'
import { withThrowAwayDatabase } from './database.ts'
import { cpuOf, cpuOfChildren, inParallel, median, spread, table } from './measure.ts'
import { type BenchServer, startServer } from './servers.ts'

const CONTACTS = 100_000
const ROUNDS = 9
const REQUESTS = 300
const WIDTH = 8

type Sample = { perSecond: number; serverUs: number; databaseUs: number }
type Variant = { name: string; base: string; path: string; server: BenchServer; samples: Sample[] }

/** A page of contacts out of 100,000 through REST and tRPC, against a bare server with the same two queries. */
export async function benchHttp(): Promise<string[]> {
  return withThrowAwayDatabase(async ({ url, postmasterPid, dataDir }) => {
    const environment = {
      PORT: '0',
      DATABASE_URL: url,
      SECRET_KEY: 'ab'.repeat(32),
      TRUSTED_PROXIES: '127.0.0.1/32',
      DATA_DIR: dataDir,
    }
    const parley = await startServer('./parley-server.ts', environment)
    const caller = new BenchCaller(parley.url, WIDTH)
    await caller.signUp()
    await insertContacts(url, caller.tenantId)
    const bare = await startServer('./bare-server.ts', { DATABASE_URL: url, TENANT_ID: caller.tenantId })
    const input = encodeURIComponent(JSON.stringify({ json: { limit: 20 } }))
    const variants: Variant[] = [
      { name: 'bare node:http + pg', base: bare.url, path: '/?limit=20', server: bare, samples: [] },
      { name: 'REST', base: parley.url, path: '/api/contacts?limit=20', server: parley, samples: [] },
      {
        name: 'native tRPC',
        base: parley.url,
        path: `/api/trpc/contacts.list?input=${input}`,
        server: parley,
        samples: [],
      },
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
  const ratios = (variant: Variant, pick: (sample: Sample) => number) =>
    variant.samples.map((sample, round) => pick(floor.samples[round] as Sample) / pick(sample))
  const rows = variants.map((variant) => [
    variant.name,
    median(variant.samples.map(({ perSecond }) => perSecond)).toFixed(0),
    spread(
      variant.samples.map(({ serverUs }) => serverUs),
      0,
    ),
    spread(
      variant.samples.map(({ databaseUs }) => databaseUs),
      0,
    ),
    spread(ratios(variant, ({ serverUs }) => serverUs)),
    spread(ratios(variant, ({ serverUs, databaseUs }) => serverUs + databaseUs)),
  ])
  const head = [
    'variant',
    'req/s',
    'server CPU µs/req',
    'Postgres CPU µs/req',
    'floor ÷ it, server',
    'floor ÷ it, with Postgres',
  ]
  return [
    `GET /api/contacts?limit=20 of ${CONTACTS} contacts; ${ROUNDS} interleaved rounds of ${REQUESTS} requests, ${WIDTH} at a time; median (range)`,
    ...table([head, ...rows]),
  ]
}

async function burst(caller: BenchCaller, { base, path, server }: Variant, postmasterPid: number): Promise<Sample> {
  const cpu = cpuOf(server.pid)
  const databaseCpu = cpuOfChildren(postmasterPid)
  const started = performance.now()
  await inParallel(REQUESTS, WIDTH, () => caller.get(path, base))
  return {
    perSecond: REQUESTS / ((performance.now() - started) / 1000),
    serverUs: ((cpuOf(server.pid) - cpu) * 1000) / REQUESTS,
    databaseUs: ((cpuOfChildren(postmasterPid) - databaseCpu) * 1000) / REQUESTS,
  }
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
