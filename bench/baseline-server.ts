import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'

/**
 * Baseline of the HTTP bench: node:http and pg run the same page and total queries for a fixed tenant, without routing,
 * sessions, rate limits and validation.
 */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 12 })
const tenantId = process.env['TENANT_ID']

const PAGE = `select contacts.*, coalesce((
    select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name))
    from contact_tags ct join tags t on t.tenant_id = ct.tenant_id and t.id = ct.tag_id
    where ct.tenant_id = contacts.tenant_id and ct.contact_id = contacts.id), '[]') as tags
  from contacts where tenant_id = $1 order by created_at desc, id desc limit $2 offset $3`
const TOTAL = 'select count(*) from contacts where tenant_id = $1'

const server = createServer((request, response) => {
  const query = new URL(request.url ?? '/', 'http://localhost').searchParams
  Promise.all([
    pool.query(PAGE, [tenantId, Number(query.get('limit')), Number(query.get('offset') ?? 0)]),
    pool.query<{ count: string }>(TOTAL, [tenantId]),
  ]).then(
    ([page, total]) => {
      response.setHeader('content-type', 'application/json; charset=utf-8')
      response.end(JSON.stringify({ items: page.rows, total: Number(total.rows[0]?.count) }))
    },
    () => response.writeHead(500).end(),
  )
})
server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.on('SIGTERM', () => process.exit(0))
