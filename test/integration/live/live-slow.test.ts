import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { recordStatements } from '../../support/statements.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** More than the process keeps of a workspace, and, with their texts, more than the buffers of a connection take. */
const EVENTS = 6000
const TEXT = 'x'.repeat(4000)

describe('slow subscribers', function () {
  this.timeout(120_000)
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  /** Subscribes over a connection of its own, and collects the IDs of the items while it is read. */
  async function followSlowly(): Promise<{ socket: Socket; ids: string[] }> {
    const { hostname, port } = new URL(app.url)
    const socket = connect(Number(port), hostname)
    const ids: string[] = []
    let rest = ''
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      ids.push(...lines.filter((line) => line.startsWith('id: ')).map((line) => line.slice(4)))
    })
    const headers = {
      host: hostname,
      cookie: owner.cookie,
      'x-tenant-id': owner.tenantId,
      'x-forwarded-for': newAddress(),
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET /api/trpc/events.follow HTTP/1.1\r\n${lines.join('')}\r\n`)
    await waitUntil(() => ids.length === 1)
    return { socket, ids }
  }

  it('a subscriber that stops reading gets every event once and in order later, and delays no other', async () => {
    const slow = await followSlowly()
    slow.socket.pause()
    const fast = await openEventStream<object>(app.url, owner, { procedure: 'events.follow', input: {} })
    await app.system.db.raw(
      `insert into events (tenant_id, id, type, data, created_at)
       select ?, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'contact.updated',
         jsonb_build_object('contactId', ?::text), ? from generate_series(1, ?) n`,
      [owner.tenantId, TEXT, app.clock.now(), EVENTS],
    )
    await sendAsCustomer(owner, { phone: '+4915112345000', body: 'last' })
    const items = await fast.until((data) => JSON.stringify(data).includes('message.received'))
    fast.close()
    expect(items.length).to.be.greaterThan(EVENTS)
    const last = items.at(-1)?.id
    const statements = await recordStatements(async () => {
      slow.socket.resume()
      await waitUntil(() => slow.ids.at(-1) === last, 30_000)
    })
    slow.socket.destroy()
    expect(slow.ids.slice(1)).to.deep.equal(items.map(({ id }) => id))
    const reads = statements.filter(({ text }) => text.includes('readEvents'))
    expect(reads).not.to.deep.equal([])
  })
})
