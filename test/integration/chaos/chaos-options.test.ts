import { expect } from 'chai'
import { parseOptions } from '../../../chaos/parse-options.ts'

describe('parseOptions of the chaos test', () => {
  it('parseOptions returns 200 kills and 2000 conversations by default', () => {
    expect(parseOptions([])).to.include({ kills: 200, conversations: 2000, seed: 1, timeoutMs: 180_000 })
    expect(parseOptions(['--kills', '30', '--seed=7'])).to.include({ kills: 30, conversations: 2000, seed: 7 })
  })

  it('parseOptions names the argument that is unknown, lacks a value, or is positional', () => {
    expect(() => parseOptions(['--kill', '3'])).to.throw('--kill')
    expect(() => parseOptions(['--kills'])).to.throw('--kills')
    expect(() => parseOptions(['30'])).to.throw('30')
  })

  it('parseOptions rejects a value that is not an integer or is too small', () => {
    for (const value of ['many', '1.5', '1e3', '', '0x10'])
      expect(() => parseOptions([`--kills=${value}`]), value).to.throw(`--kills must be an integer of at least 0`)
    expect(() => parseOptions(['--workers', '0'])).to.throw('--workers must be an integer of at least 1, but is "0"')
  })

  it('parseOptions returns undefined for --help and -h, whatever other options there are', () => {
    expect(parseOptions(['--help'])).to.equal(undefined)
    expect(parseOptions(['--kills', '3', '-h'])).to.equal(undefined)
  })
})
