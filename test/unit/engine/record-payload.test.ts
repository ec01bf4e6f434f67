import { expect } from 'chai'
import { recordPayload } from '../../../src/engine/redact/record-payload.ts'

describe('what is written down of a step', () => {
  it('has nothing that stands under the name of a secret', () => {
    const given = {
      headers: { Authorization: 'Bearer x', 'X-API-Key': 'k', 'set-cookie': ['a=1'], accept: 'text/plain' },
      json: { user: { clientSecret: { id: 1 }, pin: 1234, city: 'Lisboa' }, list: [{ password: 'p' }] },
    }
    expect(recordPayload(given, [])).to.deep.equal({
      headers: {
        Authorization: '[redacted]',
        'X-API-Key': '[redacted]',
        'set-cookie': '[redacted]',
        accept: 'text/plain',
      },
      json: {
        user: { clientSecret: '[redacted]', pin: '[redacted]', city: 'Lisboa' },
        list: [{ password: '[redacted]' }],
      },
    })
    expect(given.json.user.pin).to.equal(1234)
  })

  it('says whether there is a secret, and how many tokens a model took', () => {
    const given = { password: null, token: '', hasToken: true, usage: { total_tokens: 12 } }
    expect(recordPayload(given, [])).to.deep.equal(given)
  })

  it('has no given secret in any text, also not as it stands in a URL', () => {
    const secret = 's3cr&t pass'
    const given = [
      `is ${secret}!`,
      `https://x.example/?k=${encodeURIComponent(secret)}`,
      '?k=s3cr%26t+pass',
      { [secret]: 1 },
    ]
    const text = JSON.stringify(recordPayload(given, [secret]))
    expect(text).not.to.contain('s3cr')
    expect(text).to.contain('is [redacted]!')
  })

  it('loses a longer secret whole, even if a shorter one is part of it', () => {
    expect(recordPayload('abcd-efgh abcd', ['abcd', 'abcd-efgh'])).to.equal('[redacted] [redacted]')
  })

  it('does not take a word for a secret that everything contains', () => {
    expect(recordPayload('a cat', ['a', ''])).to.equal('a cat')
  })

  it('is cut above 256 KB, and says how long it was', () => {
    const fits = { text: 'x'.repeat(256 * 1024 - 11) }
    expect(recordPayload(fits, [])).to.deep.equal(fits)
    const long = { text: `${fits.text}x` }
    const cut = recordPayload(long, []) as { $truncated: true; bytes: number; preview: string }
    expect([cut.$truncated, cut.bytes]).to.deep.equal([true, 256 * 1024 + 1])
    expect(JSON.stringify(long).startsWith(cut.preview)).to.equal(true)
    expect(recordPayload(cut, [])).to.deep.equal(cut)
  })

  it('is measured in bytes, not in characters', () => {
    expect(recordPayload('é'.repeat(130 * 1024), [])).to.have.property('$truncated', true)
    expect(recordPayload('\n'.repeat(130 * 1024), [])).to.have.property('$truncated', true)
    expect(recordPayload(Array(100_000).fill(0), [])).to.have.length(100_000)
    expect(recordPayload(Array(150_000).fill(0), [])).to.have.property('$truncated', true)
  })

  it('is cut where it is nested too deeply', () => {
    let deep: unknown = 'end'
    for (let level = 0; level < 100_000; level += 1) deep = { deep }
    expect(JSON.stringify(recordPayload(deep, []))).to.contain('nested too deeply')
  })

  it('leaves alone what is no object', () => {
    for (const value of [null, 1, true, 'text', undefined]) expect(recordPayload(value, [])).to.equal(value)
  })
})
