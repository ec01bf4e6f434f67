import { expect } from 'chai'
import { recordPayload } from '../../../src/engine/redact/record-payload.ts'

describe('recordPayload', () => {
  it('redacts values under names of secrets', () => {
    const payload = {
      headers: { Authorization: 'Bearer x', 'X-API-Key': 'k', 'set-cookie': ['a=1'], accept: 'text/plain' },
      json: { user: { clientSecret: { id: 1 }, pin: 1234, city: 'Lisboa' }, list: [{ password: 'p' }] },
    }
    expect(recordPayload(payload, [])).to.deep.equal({
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
    expect(payload.json.user.pin).to.equal(1234)
  })

  it('keeps empty secrets, flags and token counts', () => {
    const payload = { password: null, token: '', hasToken: true, usage: { total_tokens: 12 } }
    expect(recordPayload(payload, [])).to.deep.equal(payload)
  })

  it('redacts a given secret in any text, also URL-encoded', () => {
    const secret = 's3cr&t pass'
    const payload = [
      `is ${secret}!`,
      `https://x.example/?k=${encodeURIComponent(secret)}`,
      '?k=s3cr%26t+pass',
      { [secret]: 1 },
    ]
    const text = JSON.stringify(recordPayload(payload, [secret]))
    expect(text).not.to.contain('s3cr')
    expect(text).to.contain('is [redacted]!')
  })

  it('redacts a longer secret completely when it contains a shorter one', () => {
    expect(recordPayload('abcd-efgh abcd', ['abcd', 'abcd-efgh'])).to.equal('[redacted] [redacted]')
  })

  it('ignores secrets that are empty or one character long', () => {
    expect(recordPayload('a cat', ['a', ''])).to.equal('a cat')
  })

  it('truncates a payload above 256 KiB and records its size', () => {
    const fits = { text: 'x'.repeat(256 * 1024 - 11) }
    expect(recordPayload(fits, [])).to.deep.equal(fits)
    const long = { text: `${fits.text}x` }
    const truncated = recordPayload(long, []) as { $truncated: true; bytes: number; preview: string }
    expect([truncated.$truncated, truncated.bytes]).to.deep.equal([true, 256 * 1024 + 1])
    expect(JSON.stringify(long).startsWith(truncated.preview)).to.equal(true)
    expect(recordPayload(truncated, [])).to.deep.equal(truncated)
  })

  it('measures the size in bytes of JSON, not in characters', () => {
    expect(recordPayload('é'.repeat(130 * 1024), [])).to.have.property('$truncated', true)
    expect(recordPayload('\n'.repeat(130 * 1024), [])).to.have.property('$truncated', true)
    expect(recordPayload(Array(100_000).fill(0), [])).to.have.length(100_000)
    expect(recordPayload(Array(150_000).fill(0), [])).to.have.property('$truncated', true)
  })

  it('replaces values that are nested too deeply', () => {
    let deep: unknown = 'end'
    for (let level = 0; level < 100_000; level += 1) deep = { deep }
    expect(JSON.stringify(recordPayload(deep, []))).to.contain('nested too deeply')
  })

  it('returns primitive values unchanged', () => {
    for (const value of [null, 1, true, 'text', undefined]) expect(recordPayload(value, [])).to.equal(value)
  })
})
