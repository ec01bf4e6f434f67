import { Agent, request } from 'node:http'
import { expect } from 'chai'
import { SECOND } from '../../../src/platform/time.ts'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp } from '../../support/app.ts'
import { BlockedReads } from '../../support/blocked-reads.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** The answer of one request over a kept-alive connection. */
function get(agent: Agent, url: string, headers: Record<string, string>): Promise<{ connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent, headers: { ...headers, 'x-forwarded-for': newAddress() } }, (response) => {
      response.resume()
      response.on('end', () => resolve({ connection: response.headers.connection }))
      response.on('error', reject)
    })
    call.on('error', reject)
    call.end()
  })
}

describe('a process that stops', function () {
  this.timeout(60_000)

  it('answers the requests in progress, and closes their connections', async () => {
    const app = await startTestApp({ DB_REQUESTS_STATEMENT_TIMEOUT_MS: '60000' })
    const workspace = await buildWorkspace(app)
    const { id } = await buildContact(workspace)
    const reads = await BlockedReads.start(app.databaseUrl, workspace.tenantId)
    const input = encodeURIComponent(JSON.stringify({ json: { contactId: id } }))
    const calls = [
      workspace.request('GET', `/api/contacts/${id}`),
      workspace.request('GET', `/api/trpc/contacts.get?input=${input}`),
    ]
    await reads.waitForCount(2)
    const stopped = app.stop(60_000)
    await waitUntil(() =>
      fetch(`${app.url}/healthz`).then(
        () => false,
        () => true,
      ),
    )
    await reads.release()
    for (const { status, headers } of await Promise.all(calls))
      expect([status, headers.get('connection')]).to.deep.equal([200, 'close'])
    await stopped
  })

  it('ends at once with kept-alive connections, requests that follow each other and open subscriptions', async () => {
    const app = await startTestApp()
    const workspace = await buildWorkspace(app)
    const { cookie, tenantId } = workspace
    const headers = { cookie, 'x-tenant-id': tenantId }
    const stream = await openEventStream(app.url, workspace, { procedure: 'events.follow', input: {} })
    const agent = new Agent({ keepAlive: true })
    let isOpen = true
    const clients = Array.from({ length: 8 }, async () => {
      while (isOpen) await get(agent, `${app.url}/api/contacts`, headers).catch(() => (isOpen = false))
    })
    const idle = new Agent({ keepAlive: true })
    await get(idle, `${app.url}/healthz`, {})
    const startedAt = performance.now()
    await app.stop(20 * SECOND)
    const stopMs = performance.now() - startedAt
    process.stderr.write(`    stopped in ${Math.round(stopMs)} ms\n`)
    isOpen = false
    await Promise.all(clients)
    agent.destroy()
    idle.destroy()
    stream.close()
    expect(stopMs).to.be.below(5 * SECOND)
  })
})
