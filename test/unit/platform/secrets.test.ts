import { expect } from 'chai'
import { Secrets } from '../../../src/platform/security/secrets.ts'

const [OLD, NEW] = ['ab'.repeat(32), 'cd'.repeat(32)] as const

describe('secrets', () => {
  const old = new Secrets([OLD])
  const both = new Secrets([NEW, OLD])
  const present = new Secrets([NEW])

  it('are sealed with the first key, opened with any, and not opened for another context or without their key', () => {
    const sealed = both.seal({ token: 'a' }, 'row 1')
    expect(present.open(sealed, 'row 1')).to.deep.equal({ token: 'a' })
    expect(both.open(old.seal('b', 'row 2'), 'row 2')).to.equal('b')
    expect(() => both.open(sealed, 'row 2')).to.throw()
    const message = 'A stored secret was encrypted with a key that is not in SECRET_KEYS or SECRET_KEY'
    expect(() => present.open(old.seal('b', 'row 2'), 'row 2')).to.throw(message)
  })

  it('codes of any of the keys are authentic, and those of another text, purpose or key are not', () => {
    const signed = { text: 'a', purpose: 'test' }
    for (const code of [old, present].map((secrets) => secrets.authenticate('a', 'test'))) {
      expect(both.isAuthentic(code, signed)).to.equal(true)
      expect(both.isAuthentic(code.slice(0, 22), { ...signed, length: 22 })).to.equal(true)
      expect(both.isAuthentic(code, { ...signed, text: 'b' })).to.equal(false)
      expect(both.isAuthentic(code, { ...signed, purpose: 'other' })).to.equal(false)
    }
    expect(present.isAuthentic(old.authenticate('a', 'test'), signed)).to.equal(false)
  })
})
