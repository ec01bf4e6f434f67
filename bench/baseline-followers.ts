import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'

/** A plain server that sends each event of a workspace to all connections: one read, and one write per connection. */
const tenantId = process.env['TENANT_ID'] ?? ''
const database = new pg.Client({ connectionString: process.env['DATABASE_URL'] })
await database.connect()
const followers = new Set<ServerResponse>()
const PING = 'event: ping\ndata: \n\n'
const PING_MS = 5000

let lastId = await readLastId()
let isReading = false

async function readLastId(): Promise<string> {
  const { rows } = await database.query<{ id: string }>(
    'select id from events where tenant_id = $1 order by id desc limit 1',
    [tenantId],
  )
  return rows[0]?.id ?? '00000000-0000-0000-0000-000000000000'
}

async function sendNewEvents(): Promise<void> {
  if (isReading) return
  isReading = true
  const { rows } = await database.query<{ id: string }>(
    'select id, type, data, created_at from events where tenant_id = $1 and id > $2 order by id',
    [tenantId, lastId],
  )
  isReading = false
  for (const { id, ...event } of rows) {
    lastId = id
    const text = `data: ${JSON.stringify({ json: { type: 'event', event } })}\nid: ${id}\n\n`
    for (const follower of followers) follower.write(text)
  }
}

database.on('notification', () => void sendNewEvents())
await database.query('listen parley_events')

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(`data: {"json":{"type":"ready"}}\nid: ${lastId}\n\n`)
  followers.add(response)
  const ping = setInterval(() => response.write(PING), PING_MS)
  response.once('close', () => {
    clearInterval(ping)
    followers.delete(response)
  })
})
server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.on('SIGTERM', () => process.exit(0))
