import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { HOUR, MINUTE, SECOND } from '../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { repeatUntil } from '../support/wait-until.ts'
import { verify } from '../support/webhook-receiver.ts'

const CONTACTS = 10_000
const PER_CALL = 500

type Call = Parameters<typeof verify>[0]

/** The server of the integrator, which may be away. */
class Receiver {
  readonly calls: Call[] = []
  #server: Server | undefined
  #port = 0

  get url(): string {
    return `http://127.0.0.1:${this.#port}/parley`
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        this.calls.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
        response.writeHead(204).end()
      })
    }).listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address() as AddressInfo
    this.#port = address.port
    this.#server = server
  }

  async stop(): Promise<void> {
    this.#server?.close()
    this.#server?.closeAllConnections()
  }
}

describe('the day of an integrator with curl', function () {
  this.timeout(300_000)
  let app: TestApp
  let folder: TempDir
  const receiver = new Receiver()

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    folder = createTempDir()
    await receiver.start()
  })

  after(async () => {
    await receiver.stop()
    await app.stop()
    await folder.remove()
  })

  async function curl(path: string, ...options: string[]): Promise<any> {
    // oxlint-disable-line no-explicit-any -- answers of every shape
    const { stdout } = await promisify(execFile)('curl', ['-sS', '--fail-with-body', ...options, app.url + path], {
      maxBuffer: 64 * 1024 * 1024,
    })
    return stdout === '' ? {} : JSON.parse(stdout)
  }

  const body = (value: unknown) => ['--json', JSON.stringify(value)]
  const bearer = (key: string) => ['-H', `Authorization: Bearer ${key}`]

  async function passTime(ms: number): Promise<void> {
    app.clock.advance(ms)
    await app.work()
  }

  it('goes from the sign-up to 10,000 contacts, 500 runs, their events over a dead receiver, and a revoked key', async () => {
    const cookies = join(folder.path, 'cookies.txt')
    const account = { name: 'Ines', email: 'ines@shop.example', password: 'correct horse battery' }
    const { workspaces } = await curl('/api/auth/sign-up/email', '-c', cookies, ...body(account))
    const session = ['-b', cookies, '-H', `x-tenant-id: ${workspaces[0].id}`]
    const { key } = await curl('/api/api-keys', ...session, ...body({ name: 'Shop', scopes: ['full'] }))

    const contactIds: string[] = []
    for (const expected of ['created', 'unchanged']) {
      for (let start = 0; start < CONTACTS; start += PER_CALL) {
        const items = Array.from({ length: PER_CALL }, (_, n) => ({
          name: `Customer ${start + n}`,
          phone: `+4915${String(100_000_000 + start + n)}`,
          externalId: `shop-${start + n}`,
        }))
        const call = { mode: 'upsert', matchBy: 'externalId', items }
        const { results } = await curl('/api/contacts/bulk', ...bearer(key), ...body(call))
        expect(new Set(results.map(({ status }: { status: string }) => status))).to.deep.equal(new Set([expected]))
        if (contactIds.length === 0) contactIds.push(...results.map(({ id }: { id: string }) => id))
      }
    }
    expect((await curl('/api/contacts?limit=1', ...bearer(key))).total).to.equal(CONTACTS)

    const subscription = { url: receiver.url, types: ['run.completed', 'custom.*'] }
    const endpoint = await curl('/api/webhook-endpoints', ...bearer(key), ...body(subscription))
    const definition = {
      version: 1,
      triggers: [{ type: 'api' }],
      steps: [{ id: 'tell', type: 'emit', event: 'appointment.booked' }],
    }
    const { id: workflowId } = await curl('/api/workflows', ...bearer(key), ...body({ name: 'Booking', definition }))
    await curl(`/api/workflows/${workflowId}/publish`, ...bearer(key), ...body({}))
    await receiver.stop()
    const { results: runs } = await curl(
      `/api/workflows/${workflowId}/runs/bulk`,
      ...bearer(key),
      ...body({ contactIds }),
    )
    expect(runs.filter(({ status }: { status: string }) => status === 'started')).to.have.length(PER_CALL)
    await app.work()
    for (let minutes = 0; minutes < 60; minutes += 1) await passTime(MINUTE)
    expect(receiver.calls).to.have.length(0)
    await receiver.start()
    for (let hours = 0; hours < 4; hours += 1) await passTime(HOUR)

    const completed = await curl('/api/runs?status=completed&limit=1', ...bearer(key))
    expect(completed.total).to.equal(PER_CALL)
    for (const call of receiver.calls) verify(call, endpoint.secret)
    const ids = receiver.calls.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).to.equal(ids.length)
    expect(ids).to.have.length(2 * PER_CALL)
    const events = receiver.calls.map((call) => JSON.parse(call.body))
    const runIds = events.filter(({ type }) => type === 'run.completed').map(({ data }) => data.runId)
    expect(runIds.toSorted()).to.deep.equal(runs.map(({ id }: { id: string }) => id).toSorted())
    const booked = events.filter(({ type }) => type === 'custom.appointment.booked').map(({ data }) => data.contactId)
    expect(booked.toSorted()).to.deep.equal(contactIds.toSorted())

    const rotated = await curl(
      `/api/webhook-endpoints/${endpoint.id}/rotate-secret`,
      ...bearer(key),
      ...body({ overlap: '1h' }),
    )
    await curl('/api/events', ...bearer(key), ...body({ event: 'order.paid', contactId: contactIds[0] }))
    await app.work()
    const last = receiver.calls.at(-1)
    if (!last) throw new Error('Nothing was received')
    verify(last, endpoint.secret)
    verify(last, rotated.secret)

    const closedAfterMs = await repeatUntil(
      () => measureRevocation(session),
      (ms) => ms < SECOND,
    )
    expect(closedAfterMs).to.be.lessThan(SECOND)
  })

  /** Returns the time from the revocation of a key to the end of its stream. Then the key is not accepted. */
  async function measureRevocation(session: string[]): Promise<number> {
    const created = await curl('/api/api-keys', ...session, ...body({ name: 'Stream', scopes: ['events:read'] }))
    const stream = spawn('curl', ['-sSN', ...bearer(created.key), `${app.url}/api/events/stream`])
    await once(stream.stdout, 'data')
    const exited = once(stream, 'exit')
    await curl(`/api/api-keys/${created.id}`, ...session, '-X', 'DELETE')
    const startedMs = performance.now()
    await exited
    const elapsedMs = performance.now() - startedMs
    const options = ['-sS', '-o', join(folder.path, 'answer'), '-w', '%{http_code}', ...bearer(created.key)]
    const { stdout } = await promisify(execFile)('curl', [...options, `${app.url}/api/events`])
    expect(stdout).to.equal('401')
    return elapsedMs
  }
})
