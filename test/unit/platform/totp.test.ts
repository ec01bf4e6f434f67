import { expect } from 'chai'
import {
  computeTotp,
  findTotpStep,
  newRecoveryCodes,
  newTotpSecret,
  toStep,
  toTotpUri,
} from '../../../src/platform/security/totp.ts'

/** The secret of the test vectors of RFC 6238, `12345678901234567890`, in base 32. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

/** The last six of the eight digits in appendix B of RFC 6238, by the time in seconds. */
const VECTORS = {
  59: '287082',
  1111111109: '081804',
  1111111111: '050471',
  1234567890: '005924',
  2000000000: '279037',
  20000000000: '353130',
}

const toTime = (seconds: number) => new Date(seconds * 1000)

describe('time-based one-time passwords', () => {
  for (const [seconds, code] of Object.entries(VECTORS)) {
    it(`has the code ${code} of RFC 6238 at ${seconds} seconds`, () => {
      expect(computeTotp(SECRET, toStep(toTime(Number(seconds))))).to.equal(code)
    })
  }

  it('accepts the code of the present, the previous and the next step, and of no other', () => {
    const step = toStep(toTime(1111111109))
    const accepted = [-30, 0, 30].map((offset) => findTotpStep(SECRET, '081804', toTime(1111111109 + offset)))
    expect(accepted).to.deep.equal([step, step, step])
    for (const offset of [-60, 60]) {
      expect(findTotpStep(SECRET, '081804', toTime(1111111109 + offset))).to.equal(undefined)
    }
    for (const code of ['', '81804', '0081804', '081805']) {
      expect(findTotpStep(SECRET, code, toTime(1111111109)), code).to.equal(undefined)
    }
  })

  it('creates secrets of 160 bits and ten different recovery codes of 80 bits', () => {
    expect(newTotpSecret()).to.match(/^[A-Z2-7]{32}$/)
    expect(newTotpSecret()).not.to.equal(newTotpSecret())
    const codes = newRecoveryCodes()
    expect(new Set(codes).size).to.equal(10)
    for (const code of codes) expect(code).to.match(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)
  })

  it('escapes the names in the URI of an authenticator app', () => {
    const uri = new URL(toTotpUri(SECRET, { issuer: 'A & B', account: 'ada+1@parley.example' }))
    expect(uri.pathname).to.equal('/A%20%26%20B:ada%2B1%40parley.example')
    expect(Object.fromEntries(uri.searchParams)).to.deep.equal({
      secret: SECRET,
      issuer: 'A & B',
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
  })
})
