import { expect } from 'chai'
import { buildContact } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { BlockedReads } from '../../support/blocked-reads.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { WebhookCaller } from '../../support/webhook-caller.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const READS = 14
/** Half of the connections for requests. */
const SHARE = 4

describe('slow statements of one workspace', function () {
  this.timeout(120_000)
  let app: TestApp
  let writer: TestApp
  let slow: WorkspaceClient
  let other: WorkspaceClient
  let reads: BlockedReads
  /** A contact in each workspace, read by one statement. */
  let slowContact: string
  let otherContact: string

  const rest = (contactId: string) => `/api/contacts/${contactId}`
  const trpc = (contactId: string) =>
    `/api/trpc/contacts.get?input=${encodeURIComponent(JSON.stringify({ json: { contactId } }))}`

  /** Starts an app with the settings, and another one, which writes what the tests read however long it takes. */
  async function start(environment: Record<string, string>): Promise<void> {
    writer = await startTestApp({ ROLES: 'http' })
    app = await startTestApp({ ...environment, DATABASE_URL: writer.databaseUrl })
    ;({ workspace: slow, contactId: slowContact } = await createWorkspace())
    ;({ workspace: other, contactId: otherContact } = await createWorkspace())
  }

  async function createWorkspace(): Promise<{ workspace: WorkspaceClient; contactId: string }> {
    const session = await writer.signUp()
    const { id: contactId } = await buildContact(new WorkspaceClient(writer, session))
    return { workspace: new WorkspaceClient(app, session), contactId }
  }

  async function stop(): Promise<void> {
    await app.stop()
    await writer.stop()
  }

  beforeEach(async () => {
    reads = await BlockedReads.start(writer.databaseUrl, slow.tenantId)
  })

  afterEach(() => reads.release())

  /** Sends a read and does not wait for its answer; `leave` closes its connection. */
  function startRead(path: string): {
    answer: Promise<Response | undefined>
    isAnswered: () => boolean
    leave(): void
  } {
    const controller = new AbortController()
    let isAnswered = false
    const answer = fetch(app.url + path, {
      headers: { cookie: slow.cookie, 'x-tenant-id': slow.tenantId },
      signal: controller.signal,
    }).then(
      (response) => {
        isAnswered = true
        return response
      },
      () => undefined,
    )
    return { answer, isAnswered: () => isAnswered, leave: () => controller.abort() }
  }

  describe('with time to run', () => {
    before(() => start({ DB_REQUESTS_STATEMENT_TIMEOUT_MS: '60000', DB_REQUESTS_ACQUIRE_TIMEOUT_MS: '60000' }))
    after(stop)

    it('leave other workspaces, sign-ups, readiness and webhooks unaffected', async () => {
      const caller = new WebhookCaller(app, other)
      const webhook = await caller.publishWithSecret()
      const blocked = Array.from({ length: READS }, () => startRead(rest(slowContact)))
      await reads.waitForCount(SHARE)
      expect((await other.request('GET', rest(otherContact))).status).to.equal(200)
      expect((await caller.callSigned(webhook, {})).status).to.equal(202)
      await app.signUp()
      expect((await app.rest('GET', '/readyz')).status).to.equal(200)
      expect(blocked.some(({ isAnswered }) => isAnswered())).to.equal(false)
      await reads.release()
      for (const { answer } of blocked) expect((await answer)?.status).to.equal(200)
    })

    for (const [transport, path] of [
      ['REST', rest],
      ['tRPC', trpc],
    ] as const) {
      it(`are canceled in the database when their client disconnects, and no others, by ${transport}`, async () => {
        const [leaving, staying] = [startRead(path(slowContact)), startRead(path(slowContact))]
        await reads.waitForCount(2)
        leaving.leave()
        await reads.waitForCount(1)
        expect((await other.request('GET', rest(otherContact))).status).to.equal(200)
        await reads.release()
        expect((await staying.answer)?.status).to.equal(200)
      })
    }

    it('are not started for a client that disconnected while it waited for a connection', async () => {
      const blocked = Array.from({ length: SHARE }, () => startRead(rest(slowContact)))
      await reads.waitForCount(SHARE)
      const waiting = startRead(rest(slowContact))
      waiting.leave()
      await waiting.answer
      const [first] = blocked
      first?.leave()
      await reads.waitForCount(SHARE - 1)
      await reads.release()
      for (const { answer } of blocked.slice(1)) expect((await answer)?.status).to.equal(200)
    })

    it('are repeatedly canceled without an effect on the requests that use the pool meanwhile', async () => {
      for (let round = 0; round < 10; round += 1) {
        const leaving = Array.from({ length: SHARE }, () => startRead(rest(slowContact)))
        await waitUntil(async () => (await reads.count()) > 0)
        const answers = Array.from({ length: 8 }, () => other.request('GET', rest(otherContact)))
        leaving.forEach((one) => one.leave())
        for (const answer of answers) expect((await answer).status).to.equal(200)
      }
      await reads.waitForCount(0)
    })
  })

  describe('that exceed their timeouts', () => {
    before(() => start({ DB_REQUESTS_STATEMENT_TIMEOUT_MS: '1000', DB_REQUESTS_ACQUIRE_TIMEOUT_MS: '500' }))
    after(stop)

    it('return 503 with Retry-After over REST, also where no connection was free', async () => {
      const answers: ApiResponse[] = await Promise.all(
        Array.from({ length: READS }, () => slow.request('GET', rest(slowContact))),
      )
      for (const { status, headers, body } of answers) {
        expect([status, body.code]).to.deep.equal([503, 'unavailable'])
        expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
      }
      expect(new Set(answers.map(({ body }) => body.error)).size).to.equal(2)
    })

    it('return 503 with Retry-After over tRPC', async () => {
      const { status, headers, body } = await slow.request('GET', trpc(slowContact))
      expect(status).to.equal(503)
      expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
      expect(body.error.json.data).to.include({ httpStatus: 503, code: 'unavailable' })
    })
  })
})
