import { expect } from 'chai'
import { Contact } from '../../../src/models/contacts/contact.ts'
import type { Scope } from '../../../src/scope.ts'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'

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
