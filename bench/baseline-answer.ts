import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { request } from 'undici'
import { v7 } from 'uuid'
import { AnswerRows, type Customer } from './answer-rows.ts'

/**
 * Baselines of the answer bench: node:http and pg store an answer as a script would, one statement after the other, without
 * signatures, decisions, batches and repetitions. `POST /seven` stores seven narrow rows in one transaction, updates one and
 * calls no provider. `POST /rows` stores the rows that Parley keeps of an answer, in tables with the same columns and
 * indexes, and calls the provider.
 */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 12 })
pool.on('error', () => undefined)
const providerUrl = process.env['PROVIDER_URL'] ?? ''

const CREATE = `
  drop schema if exists baseline cascade;
  create schema baseline;
  create table baseline.narrow_conversations (phone text primary key, last_message text, last_message_at timestamptz);
  create table baseline.narrow_messages (id uuid primary key, phone text, direction text, body text, created_at timestamptz);
  create table baseline.narrow_runs (id uuid primary key, phone text, status text, created_at timestamptz);
  create table baseline.narrow_steps (run_id uuid, index integer, type text, output text, primary key (run_id, index));`

type Inbound = { phone: string; body: string }

async function readMessage(incoming: IncomingMessage): Promise<Inbound> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const payload = JSON.parse(Buffer.concat(chunks).toString()) as {
    entry: [{ changes: [{ value: { messages: [{ from: string; text: { body: string } }] } }] }]
  }
  const [message] = payload.entry[0].changes[0].value.messages
  return { phone: `+${message.from}`, body: message.text.body }
}

async function transact(work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await work(client)
    await client.query('commit')
  } finally {
    client.release()
  }
}

const names = new Map<string, string>()

/** Executes a statement that the session prepares once, as those of Parley. */
function execute(client: pg.PoolClient | pg.Pool, text: string, values: unknown[]): Promise<pg.QueryResult> {
  const name = names.get(text) ?? `statement${names.size}`
  names.set(text, name)
  return client.query({ name, text, values })
}

const STEPS = ['branch', 'add_tag', 'set', 'send_message']

async function storeSeven({ phone, body }: Inbound): Promise<void> {
  const [runId, answerId, now] = [v7(), v7(), new Date()]
  await transact(async (client) => {
    const insertMessage = 'insert into baseline.narrow_messages values ($1, $2, $3, $4, $5)'
    await execute(client, insertMessage, [v7(), phone, 'inbound', body, now])
    await execute(client, 'insert into baseline.narrow_runs values ($1, $2, $3, $4)', [runId, phone, 'completed', now])
    for (const [index, type] of STEPS.entries()) {
      await execute(client, 'insert into baseline.narrow_steps values ($1, $2, $3, $4)', [runId, index, type, body])
    }
    await execute(client, insertMessage, [answerId, phone, 'outbound', `Hello ${phone}, thanks!`, now])
    await execute(
      client,
      `insert into baseline.narrow_conversations values ($1, $2, $3)
       on conflict (phone) do update set last_message = excluded.last_message, last_message_at = excluded.last_message_at`,
      [phone, body, now],
    )
  })
}

/** Returns what is left to do after the response to the webhook. */
async function storeRows({ phone, body }: Inbound): Promise<() => Promise<void>> {
  const { rows } = await execute(pool, answerRows.findCustomer, [phone])
  const values = answerRows.buildValues(rows[0] as Customer, body)
  await transact(async (client) => {
    for (const { sql, parameters } of answerRows.listWrites(values)) await execute(client, sql, parameters)
  })
  return async () => {
    const response = await request(`${providerUrl}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to: phone, type: 'text', text: { body: `Hello ${phone}, thanks!` } }),
    })
    await response.body.json()
    await transact(async (client) => {
      for (const { sql, parameters } of answerRows.listOutcome(values)) await execute(client, sql, parameters)
    })
  }
}

await pool.query(CREATE)
const answerRows = await AnswerRows.load(pool)
const server = createServer((incoming, response) => {
  const answer = async () => {
    const message = await readMessage(incoming)
    const finish = incoming.url === '/rows' ? await storeRows(message) : await storeSeven(message)
    response.end()
    await finish?.()
  }
  answer().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    if (!response.headersSent) response.writeHead(500)
    response.end()
  })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
process.on('SIGTERM', () => process.exit(0))
