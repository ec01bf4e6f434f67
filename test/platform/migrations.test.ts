import { expect } from 'chai'
import { openDatabase } from '../../src/platform/database/database.ts'
import { advanceMailboxes } from '../../src/features/execution/advance-mailboxes.ts'
import { startTestApp,type TestApp } from '../support/app.ts'
import { publish,write } from '../support/requests.ts'
import { ask } from '../support/steps.ts'

describe('the migrations, on a database that is in use', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  it('go back one by one and forward again, and what runs keep stays', async () => {
    const owner = await app.signUp()
    const advance = () => advanceMailboxes(app.system, { tenantId: owner.tenantId })
    const variables = { pin: { type: 'string', sensitive: true } }
    await publish(app, owner, { triggers: [{ type: 'message_received' }], variables, steps: [ask('name')] })
    await write(app, owner, '+4915211100001', 'hello')
    const gone = await write(app, owner, '+4915211100002', 'hello')
    await advance()
    await write(app, owner, '+4915211100002', 'Ana')
    await app.system.db('conversations').where({ id: gone }).delete()
    const db = openDatabase(app.databaseUrl)
    try {
      const names = await db('migrations').orderBy('id', 'desc').pluck<string[]>('name')
      const widened = names.findIndex((name) => name.includes('widen_mailboxes'))
      for (const _ of names.slice(0, widened + 1)) await db.migrate.down()
      await db.migrate.latest()
      const [run] = await db('runs').where({ tenant_id: owner.tenantId })
      expect(run.state).to.deep.include({ status: 'waiting', sensitive: ['pin'] })
      await db.migrate.rollback(undefined, true)
      await db.migrate.latest()
      expect(await db('runs')).to.deep.equal([])
    } finally {
      await db.destroy()
    }
  })
})
