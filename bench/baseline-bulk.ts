import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { v7 } from 'uuid'

/**
 * Baseline of the bulk bench: node:http and pg store the items of a call with one statement, which writes those that exist
 * again. The table has the columns and indexes of Parley's contacts, and no triggers. Without sessions, rate limits,
 * validation, events and results of single items.
 */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 12 })
pool.on('error', () => undefined)
const tenantId = process.env['TENANT_ID']

const UPSERT = `
  insert into baseline.contacts (tenant_id, id, name, phone, phone_key, email, country, source, created_at, updated_at)
  select $1, x.id, x.name, x.phone, x.phone, x.email, 'DE', 'api', now(), now()
  from jsonb_to_recordset($2::jsonb) as x (id uuid, name text, phone text, email text)
  on conflict (tenant_id, phone) do update
    set name = excluded.name, email = excluded.email, updated_at = excluded.updated_at
  returning id`

type Item = { name: string; phone: string; email: string }

const server = createServer((request, response) => {
  const upsert = async () => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { items } = JSON.parse(Buffer.concat(chunks).toString()) as { items: Item[] }
    const text = JSON.stringify(items.map((item) => ({ ...item, id: v7() })))
    const { rows } = await pool.query({ name: 'upsert', text: UPSERT, values: [tenantId, text] })
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end(JSON.stringify({ results: rows }))
  }
  upsert().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    response.writeHead(500).end()
  })
})

await pool.query('create schema baseline; create table baseline.contacts (like public.contacts including all)')
server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.on('SIGTERM', () => process.exit(0))
