import { expect } from 'chai'
import { closeDatabase, type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { buildWorkflow, buildWorkspace } from '../../factories.ts'
import { HOLDS_LOCKS, startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('a message whose commit is not confirmed, because the connection is lost', () => {
  let app: TestApp
  let proxy: TcpProxy
  let direct: Database

  before(async () => {
    app = await startTestApp(async (databaseUrl) => {
      proxy = await TcpProxy.start(databaseUrl)
      return { DATABASE_URL: proxy.through(databaseUrl) }
    })
    direct = openDatabase(app.databaseUrl, { prepareSession: HOLDS_LOCKS })
  })

  after(async () => {
    await closeDatabase(direct)
    await app.stop()
    proxy.stop()
  })

  const listBodies = (tenantId: string) =>
    direct('messages').where({ tenant_id: tenantId }).orderBy('id').pluck<string[]>('body')

  it('is answered at once, without waiting for the search for lost jobs', async () => {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    await direct.raw(`create function wait_at_commit() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(4713); return null; end $$;
      create constraint trigger wait_at_commit after insert on mailbox_items deferrable initially deferred
        for each row execute function wait_at_commit()`)
    const locking = await direct.transaction()
    await locking.raw('select pg_advisory_xact_lock(4713)')
    const response = workspace.request('POST', '/api/sandbox/messages', { phone: '+4915112345678', body: 'hi' })
    await waitUntil(async () => {
      const { rows } = await direct.raw<{ rows: unknown[] }>(
        `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
      )
      return rows.length > 0
    })
    // From here on the process hears nothing of what the server does.
    proxy.partition()
    await locking.commit()
    await waitUntil(async () => (await listBodies(workspace.tenantId)).length === 1)
    await direct.raw('drop function wait_at_commit cascade')
    proxy.cutAll()
    proxy.recover()
    expect((await response).status).to.equal(503)
    await waitUntil(async () => (await listBodies(workspace.tenantId)).length === 2)
    expect(await listBodies(workspace.tenantId)).to.deep.equal(['hi', 'Hello'])
  })
})
