import { expect } from 'chai'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { claimMessages } from '../../../src/features/outbound/claim-messages.ts'
import { type Claim, claimInTransaction, commitClaim } from '../../../src/features/outbound/commit-claim.ts'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import type { Scope } from '../../../src/scope/scope.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { say } from '../../support/steps.ts'

/**
 * Lets the database confirm every transaction, as it does for one that a crash has undone when another one has got its ID
 * since.
 */
async function confirmAll(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query(`create schema shadow;
      create function shadow.pg_xact_status(xid8) returns text language sql as $$ select 'committed' $$`)
    const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name')
    await client.query(`alter database ${rows[0]?.name} set search_path = shadow, public, pg_catalog`)
  })
}

describe('a claim that the database has lost, and whose transaction it confirms', () => {
  let app: TestApp
  let cloud: FakeCloudApi
  let scope: Scope
  let channelId: string

  before(async () => {
    app = await startTestApp(async (databaseUrl) => {
      await confirmAll(databaseUrl)
      return { ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' }
    })
  })

  after(() => app.stop())

  beforeEach(async () => {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const channel = await buildCloudApiChannel(workspace, cloud)
    channelId = channel.id
    scope = app.system.forTenant(workspace.tenantId)
    await cloud.webhooks.sendText({ from: '15550009001', body: 'hi' })
    await advanceMailboxes(app.system, { tenantId: workspace.tenantId })
  })

  afterEach(() => cloud.stop())

  /** Claims the message in a transaction whose connection ends before its commit, and then does something else. */
  function loseClaim(then: () => Promise<unknown>): Promise<Claim> {
    return commitClaim(
      scope,
      async (tx) => {
        const claim = await claimInTransaction(tx, { channelId, limit: 1 })
        expect(claim.claimed).to.have.length(1)
        const [connection] = await tx.sql<{ pid: number }>('readPid')`select pg_backend_pid() as pid`
        await app.system.db.raw('select pg_terminate_backend(?, 5000)', [connection?.pid ?? 0])
        await then()
        return claim
      },
      {},
    )
  }

  it('is not sent by the process that made it, if another one has claimed the message since', async () => {
    const claimAgain = async () => {
      app.clock.advance(1)
      const claimed = await scope.transaction((tx) => claimMessages(tx, { channelId, limit: 1 }))
      expect(claimed).to.have.length(1)
    }
    expect(await errorMessage(loseClaim(claimAgain))).to.match(/terminat|connection/i)
  })

  it('is not sent by the process that made it, if nobody has', async () => {
    expect(await errorMessage(loseClaim(async () => undefined))).to.match(/terminat|connection/i)
  })
})
