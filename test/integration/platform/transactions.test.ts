import { expect } from 'chai'
import { Contact } from '../../../src/models/contacts.ts'
import type { Database } from '../../../src/platform/database/database.ts'
import { transact } from '../../../src/platform/database/transaction.ts'
import type { Scope } from '../../../src/scope/scope.ts'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Lets work wait until something has happened. */
class Gate {
  open = () => {}
  readonly opened = new Promise<void>((resolve) => (this.open = resolve))
}

const APPEND = 'update contacts set name = name || ? where id = ?'

describe('transactions', () => {
  let app: TestApp
  let scope: Scope
  let id: string

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  beforeEach(async () => {
    const workspace = await buildWorkspace(app)
    scope = app.system.forTenant(workspace.tenantId)
    const contact = await buildContact(workspace, { name: 'Name' })
    id = contact.id
  })

  after(() => app.stop())

  const append = (tx: Scope, text: string) => tx.sql('appendToName')`
    update contacts set name = name || ${text} where tenant_id = ${tx.tenantId} and id = ${id}`
  const fail = (tx: Scope) => tx.sql('fail')`select 1 / ${0}::int`
  const readName = async () => (await scope.get(Contact, id)).name

  it('store nothing and report the error of a statement that the work has caught', async () => {
    const work = scope.transaction(async (tx) => {
      await append(tx, '!')
      await fail(tx).catch(() => undefined)
    })
    expect(await errorMessage(work)).to.equal('division by zero')
    expect(await readName()).to.equal('Name')
  })

  it('report the error that came first, although statements refused because of it end the work before', async () => {
    const work = scope.transaction((tx) => {
      const [failed, refused] = [fail(tx), append(tx, '!')]
      return Promise.all([refused, failed.catch((error: unknown) => refused.catch(() => Promise.reject(error)))])
    })
    expect(await errorMessage(work)).to.equal('division by zero')
  })

  it('report the first of two different errors that the work has caught', async () => {
    const work = scope.transaction(async (tx) => {
      await fail(tx).catch(() => undefined)
      // Postgres parses a statement before it refuses it because of the error before.
      expect(await errorMessage(tx.sql('misspell')`select 1 +`)).to.include('syntax error')
    })
    expect(await errorMessage(work)).to.equal('division by zero')
  })

  it('commit what was sent and not awaited', async () => {
    await scope.transaction(async (tx) => void append(tx, '!'))
    expect(await readName()).to.equal('Name!')
  })

  it('refuse statements after their end, composed ones and those of models', async () => {
    const ended = await scope.transaction((tx) => Promise.resolve({ tx }))
    const message = 'The transaction has ended. Await all of its statements'
    expect(await errorMessage(append(ended.tx, '!'))).to.equal(message)
    expect(await errorMessage(Promise.resolve(ended.tx.get(Contact, id)))).to.equal(message)
    expect(await errorMessage(ended.tx.transaction((inner) => append(inner, '!')))).to.equal(message)
    expect(await readName()).to.equal('Name')
  })

  it('roll an inner transaction back alone', async () => {
    await scope.transaction(async (tx) => {
      await append(tx, '1')
      await tx
        .transaction(async (inner) => {
          await append(inner, '2')
          await inner.transaction((innermost) => append(innermost, '3'))
          await fail(inner)
        })
        .catch(() => undefined)
      await tx.transaction((inner) => append(inner, '4'))
    })
    expect(await readName()).to.equal('Name14')
  })

  it('record the events of inner transactions with their own, but not those of one that is rolled back', async () => {
    const record = (tx: Scope, type: string) =>
      tx.record({ type: `custom.${type}`, data: { contactId: id, runId: null } })
    await scope.transaction(async (tx) => {
      await record(tx, 'outer')
      await tx.transaction((inner) => record(inner, 'inner'))
      const failed = tx.transaction(async (inner) => {
        await record(inner, 'failed')
        throw new Error('not stored')
      })
      await failed.catch(() => undefined)
    })
    const events = app.system.db('events').where({ tenant_id: scope.tenantId }).whereLike('type', 'custom.%')
    expect(await events.pluck('type')).to.have.members(['custom.outer', 'custom.inner'])
  })

  it('enqueue the jobs of inner transactions with their own, but not those of one that is rolled back', async () => {
    const toJob = (key: string) => ({ task: 'test', tenantId: scope.tenantId, key })
    await app.removeWaitingJobs()
    await scope.transaction(async (tx) => {
      tx.enqueue(toJob('outer'))
      await tx.transaction(async (inner) => inner.enqueue(toJob('inner')))
      const failed = tx.transaction(async (inner) => {
        inner.enqueue(toJob('failed'))
        throw new Error('not stored')
      })
      await failed.catch(() => undefined)
    })
    const failed = scope.transaction(async (tx) => {
      tx.enqueue(toJob('rolled back'))
      await fail(tx)
    })
    await failed.catch(() => undefined)
    expect(await app.listWaitingJobs()).to.deep.equal(['test:inner', 'test:outer'])
  })

  it('enqueue their jobs after the commit, and do not wait for others that enqueue the same', async () => {
    const job = { task: 'test', tenantId: scope.tenantId, key: 'same' }
    await app.removeWaitingJobs()
    const gate = new Gate()
    const enqueued = new Gate()
    const first = scope.transaction(async (tx) => {
      tx.enqueue(job)
      enqueued.open()
      await gate.opened
    })
    await enqueued.opened
    expect(await app.listWaitingJobs()).to.deep.equal([])
    await scope.transaction(async (tx) => tx.enqueue(job))
    expect(await app.listWaitingJobs()).to.deep.equal(['test:same'])
    await app.removeWaitingJobs()
    gate.open()
    await first
    expect(await app.listWaitingJobs()).to.deep.equal(['test:same'])
  })

  it('execute inner transactions one after the other, although they begin together', async () => {
    await scope.transaction((tx) =>
      Promise.all([
        tx.transaction((inner) => append(inner, '1')),
        tx.transaction((inner) => fail(inner)).catch(() => undefined),
        tx.transaction((inner) => append(inner, '2')),
      ]),
    )
    expect(await readName()).to.equal('Name12')
  })

  for (const [name, goOn] of [
    ['goes on', append],
    ['ends', () => Promise.resolve()],
  ] as const) {
    it(`leave nothing of an inner transaction that ${name} after its outer one to the next user of the connection`, async () => {
      const [outerFailed, nextBegun, innerEnded] = [new Gate(), new Gate(), new Gate()]
      let inner: Promise<unknown> = Promise.resolve()
      const failed = scope.transaction(async (tx) => {
        const innerBegun = new Gate()
        inner = tx.transaction(async (one) => {
          await append(one, '1')
          innerBegun.open()
          await nextBegun.opened
          await goOn(one, '2')
        })
        inner.catch(() => undefined).finally(() => innerEnded.open())
        await innerBegun.opened
        throw new Error('not stored')
      })
      expect(await errorMessage(failed.finally(() => outerFailed.open()))).to.equal('not stored')
      await outerFailed.opened
      await scope.transaction(async (tx) => {
        await append(tx, '!')
        nextBegun.open()
        await innerEnded.opened
        await append(tx, '!')
      })
      expect(await errorMessage(inner)).to.equal('The transaction has ended. Await all of its statements')
      expect(await readName()).to.equal('Name!!')
    })
  }

  it('report the cause when an inner one cannot begin or end after it, and leave the connection to others', async () => {
    const together = scope.transaction((tx) => Promise.all([tx.transaction((inner) => append(inner, '1')), fail(tx)]))
    expect(await errorMessage(together)).to.equal('division by zero')
    const before = scope.transaction(async (tx) => {
      await fail(tx).catch(() => undefined)
      await tx.transaction((inner) => append(inner, '2'))
    })
    expect(await errorMessage(before)).to.equal('division by zero')
    await scope.transaction(async (tx) => {
      const inside = tx.transaction((inner) => fail(inner).catch(() => undefined))
      expect(await errorMessage(inside)).to.equal('division by zero')
      await append(tx, '!')
    })
    for (let next = 0; next < 10; next += 1) await scope.transaction((tx) => append(tx, '+'))
    expect(await readName()).to.equal(`Name!${'+'.repeat(10)}`)
  })

  it('execute no statement of a model after a rollback, whenever the work fails', async () => {
    for (let turns = 0; turns < 60; turns += 1) {
      const failSoon = async () => {
        for (let turn = 0; turn < turns; turn += 1) await undefined
        throw new Error('not stored')
      }
      const work = scope.transaction((tx) =>
        Promise.all([failSoon(), tx.query(Contact).findOne('id', id).patch({ name: 'Patched' })]),
      )
      expect(await errorMessage(work)).to.equal('not stored')
    }
    await scope.transaction((tx) => append(tx, '!'))
    expect(await readName()).to.equal('Name!')
  })

  it('begin an inner one for a transaction of the query builder', async () => {
    const work = app.system.transaction(async (tx) => {
      await tx.db.transaction((inner) =>
        inner('contacts').where({ tenant_id: scope.tenantId, id }).update({ name: 'Inner' }),
      )
      throw new Error('not stored')
    })
    expect(await errorMessage(work)).to.equal('not stored')
    expect(await readName()).to.equal('Name')
  })

  it('are inner ones in a transaction of knex, one after the other, and are committed or rolled back with it', async () => {
    const { db } = app.system
    const appendTo = (tx: Database, text: string) => transact(tx, (inner) => inner.raw(APPEND, [text, id]))
    const rejected = db.transaction(async (tx) => {
      await appendTo(tx, '1')
      throw new Error('not stored')
    })
    expect(await errorMessage(rejected)).to.equal('not stored')
    const ended = await db.transaction(async (tx) => {
      const failing = transact(tx, (inner) => inner.raw('select 1 / 0')).catch(() => undefined)
      await Promise.all([appendTo(tx, '2'), failing, appendTo(tx, '3')])
      return { tx }
    })
    const message = 'The transaction has ended. Await all of its statements'
    expect(await errorMessage(appendTo(ended.tx, '!'))).to.equal(message)
    expect(await readName()).to.equal('Name23')
  })

  it('close a connection that does not answer their rollback, and nobody is given it', async () => {
    const stuck = scope.transaction((tx) =>
      Promise.all([tx.sql('sleep')`select pg_sleep(${60})`, Promise.reject(new Error('not stored'))]),
    )
    const outcome = errorMessage(stuck)
    const others = Array.from({ length: 30 }, () => scope.transaction((tx) => tx.sql('sleep')`select pg_sleep(${1})`))
    expect(await outcome).to.equal('not stored')
    await Promise.all(others)
    const sleeping = () => app.system.sql<{ count: number }>('countSleeping')`
      select count(*) from pg_stat_activity where query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()`
    await waitUntil(async () => (await sleeping())[0]?.count === 0)
  })

  it('leave a connection that executes further statements after a failure of the work', async () => {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const work = scope.transaction(async (tx) => {
        await append(tx, '!')
        throw new Error('not stored')
      })
      expect(await errorMessage(work)).to.equal('not stored')
    }
    expect(await readName()).to.equal('Name')
  })
})
