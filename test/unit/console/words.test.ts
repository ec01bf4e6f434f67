import { expect } from 'chai'
import { formatDuration } from '../../../src/console/kit/time.tsx'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

describe('durations on the console', () => {
  for (const [ms, text] of [
    [0, '0 ms'],
    [240, '240 ms'],
    [1500, '1.5 s'],
    [59_600, '1 min'],
    [3 * MINUTE + 20 * SECOND, '3 min 20 s'],
    [4 * HOUR - 1, '4 h'],
    [25 * HOUR, '1 d 1 h'],
    [48 * HOUR, '2 d'],
  ] as const) {
    it(`${ms} ms are "${text}"`, () => {
      expect(formatDuration(ms)).to.equal(text)
    })
  }
})
