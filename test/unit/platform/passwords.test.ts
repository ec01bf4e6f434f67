import { expect } from 'chai'
import { Passwords } from '../../../src/platform/security/passwords.ts'

describe('Passwords', () => {
  const passwords = new Passwords()

  it('hashes with argon2id (19 MiB, 2 passes) and a random salt', async () => {
    const [one, other] = [await passwords.hash('correct horse'), await passwords.hash('correct horse')]
    expect(one).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(one).not.to.equal(other)
    expect(await passwords.verify('correct horse', one)).to.equal(true)
    expect(await passwords.verify('Correct horse', one)).to.equal(false)
  })

  it('verifies a password in any Unicode normalization form', async () => {
    const hash = await passwords.hash('\u212bngstro\u0308m \ufb01ne')
    expect(await passwords.verify('\u00c5ngstr\u00f6m fine', hash)).to.equal(true)
  })

  it('verifies no password without a hash', async () => {
    expect(await passwords.verify('anything', undefined)).to.equal(false)
  })

  it('rejects concurrent hashing over its queue limit', async () => {
    const flood = await Promise.allSettled(Array.from({ length: 60 }, () => passwords.hash('correct horse')))
    const rejected = flood.filter(({ status }) => status === 'rejected')
    expect(rejected).to.have.length.within(60 - 32 - 2, 60 - 32 - 1)
  })
})
