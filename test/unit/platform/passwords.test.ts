import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { UnavailableError } from '../../../src/platform/errors.ts'
import { Semaphore } from '../../../src/platform/concurrency/semaphore.ts'
import { Passwords } from '../../../src/platform/security/passwords.ts'

/** Work that ends when it is told to. */
function work(): { promise: Promise<void>; end: () => void } {
  let end = (): void => undefined
  const promise = new Promise<void>((resolve) => (end = resolve))
  return { promise, end }
}

describe('a gate', () => {
  it('lets as many in as it is wide, the others in order, and refuses whom the queue has no room for', async () => {
    const gate = new Semaphore({ width: 2, queueMax: 2 })
    const begun: number[] = []
    const works = Array.from({ length: 5 }, work)
    const runs = works.map(({ promise }, index) =>
      gate.run(() => {
        begun.push(index)
        return promise
      }),
    )
    const refused = await runs[4]?.catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(UnavailableError).and.to.have.property('retryAfterSeconds', 1)
    expect(begun).to.deep.equal([0, 1])
    works[1]?.end()
    await runs[1]
    await nextTurn()
    expect(begun).to.deep.equal([0, 1, 2])
    works.forEach(({ end }) => end())
    await Promise.all(runs.slice(0, 4))
    expect(begun).to.deep.equal([0, 1, 2, 3])
  })

  it('stays open when work fails', async () => {
    const gate = new Semaphore({ width: 1, queueMax: 1 })
    const outcomes = [gate.run(() => Promise.reject(new Error('failed'))), gate.run(() => Promise.resolve('done'))]
    expect((await Promise.allSettled(outcomes)).map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled'])
    expect(await gate.run(() => Promise.resolve('again'))).to.equal('again')
  })
})

describe('passwords', () => {
  const passwords = new Passwords()

  it('are hashed by argon2id with 19 MiB in 2 passes, and never twice alike', async () => {
    const [one, other] = [await passwords.hash('correct horse'), await passwords.hash('correct horse')]
    expect(one).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(one).not.to.equal(other)
    expect(await passwords.verify('correct horse', one)).to.equal(true)
    expect(await passwords.verify('Correct horse', one)).to.equal(false)
  })

  it('match in any of their Unicode forms', async () => {
    const hash = await passwords.hash('\u212bngstro\u0308m \ufb01ne')
    expect(await passwords.verify('\u00c5ngstr\u00f6m fine', hash)).to.equal(true)
  })

  it('of nobody are checked like any other, and never match', async () => {
    expect(await passwords.verify('anything', undefined)).to.equal(false)
  })

  it('are not hashed in any number at once', async () => {
    const flood = await Promise.allSettled(Array.from({ length: 60 }, () => passwords.hash('correct horse')))
    const refused = flood.filter(({ status }) => status === 'rejected')
    expect(refused).to.have.length.within(60 - 32 - 2, 60 - 32 - 1)
  })
})
