import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { buildChannel, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { postSigned } from '../../support/signed-webhook.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const KB = 1024
const MB = 1024 * KB

describe('bodies that never arrive whole', function () {
  this.timeout(60_000)
  let app: TestApp
  let victim: WorkspaceClient
  let channel: { id: string; webhookPath: string }
  const calls: ClientRequest[] = []

  before(async () => {
    app = await startTestApp()
    victim = await buildWorkspace(app)
    channel = await buildChannel(victim)
  })

  afterEach(() => {
    for (const call of calls.splice(0)) call.destroy()
  })

  after(() => app.stop())

  type Half = { path: string; bytes: number; announced?: number; address: string; headers?: Record<string, string> }

  /** Sends a part of a body; resolves with the status if the server answers without the rest. */
  function sendHalf({ path, bytes, announced = bytes + 1, address, headers = {} }: Half): Promise<number> {
    const call = request(app.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': announced,
        'x-forwarded-for': address,
        ...headers,
      },
    })
    call.on('error', () => undefined)
    calls.push(call)
    call.write('x'.repeat(bytes))
    return once(call, 'response').then(([response]: IncomingMessage[]) => {
      response?.resume()
      return response?.statusCode ?? 0
    })
  }

  /** A write, a sign-in and a signed webhook call of somebody else. */
  async function expectOthersServed(): Promise<void> {
    expect((await victim.request('POST', '/api/contacts', { name: 'Ada', phone: newPhone() })).status).to.equal(201)
    const { email, password } = victim
    const signIn = await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })
    expect(signIn.status).to.equal(200)
    const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [] })
    expect((await postSigned(victim, channel, body)).status).to.equal(200)
  }

  it('are not read of callers without a session, in either protocol', async () => {
    const sent = Array.from({ length: 104 }, (_, n) =>
      sendHalf({
        path: n % 2 === 0 ? '/api/trpc/contacts.create' : '/api/contacts',
        bytes: 16 * KB,
        announced: MB,
        address: `2001:db8:aa:${n % 6}::1`,
      }),
    )
    expect(new Set(await Promise.all(sent))).to.deep.equal(new Set([401]))
    await expectOthersServed()
  })

  it('keep out no write, sign-in or webhook call of others, when members and webhook calls fill the memory with them', async () => {
    const attacker = await buildWorkspace(app)
    const webhook = await buildChannel(attacker)
    const session = { cookie: attacker.cookie, 'x-tenant-id': attacker.tenantId }
    const statuses: number[] = []
    const send = (n: number) => {
      const own = n % 2 === 0
      const half = own
        ? { path: n % 4 === 0 ? '/api/trpc/contacts.create' : '/api/contacts', bytes: MB - 1, headers: session }
        : { path: webhook.webhookPath, bytes: 3 * MB - 1 }
      void sendHalf({ ...half, address: `2001:db8:${n % 8}::1` }).then((status) => statuses.push(status))
    }
    for (let n = 0; n < 64; n += 1) send(n)
    await waitUntil(() => statuses.filter((status) => status === 503).length >= 16)
    await expectOthersServed()
  })
})
