import { expect } from 'chai'
import { readOptions } from '../../chaos/parse-options.ts'

describe('what a storm is asked for', () => {
  it('is a storm of 200 kills among 2000 conversations, unless it is said otherwise', () => {
    expect(readOptions([])).to.include({ kills: 200, conversations: 2000, seed: 1, patienceMs: 180_000 })
    expect(readOptions(['--kills', '30', '--seed=7'])).to.include({ kills: 30, conversations: 2000, seed: 7 })
  })

  it('is refused by name if it is not known, misses its value, or stands alone', () => {
    expect(() => readOptions(['--kill', '3'])).to.throw('--kill')
    expect(() => readOptions(['--kills'])).to.throw('--kills')
    expect(() => readOptions(['30'])).to.throw('30')
  })

  it('is refused if it is no whole number, or too small', () => {
    for (const value of ['many', '1.5', '1e3', '', '0x10'])
      expect(() => readOptions([`--kills=${value}`]), value).to.throw(`--kills must be a whole number of at least 0`)
    expect(() => readOptions(['--workers', '0'])).to.throw('--workers must be a whole number of at least 1, not "0"')
  })

  it('is only help, whatever else it is', () => {
    expect(readOptions(['--help'])).to.equal(undefined)
    expect(readOptions(['--kills', '3', '-h'])).to.equal(undefined)
  })
})
