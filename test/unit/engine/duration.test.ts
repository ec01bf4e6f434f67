import { expect } from 'chai'
import { parseDuration } from '../../../src/engine/language/definition/duration.ts'

describe('parseDuration', () => {
  const cases: [text: string, ms: number | undefined][] = [
    ['30s', 30_000],
    ['10m', 600_000],
    ['24h', 86_400_000],
    ['2w', 1_209_600_000],
    ['PT10M', 600_000],
    ['P1DT2H3M4S', 93_784_000],
    ['P2W', 1_209_600_000],
    ['0s', 0],
    ['P', undefined],
    ['PT', undefined],
    ['P1Y', undefined],
    ['1.5h', undefined],
    ['-1s', undefined],
    [' 1s', undefined],
    ['1S', undefined],
  ]
  for (const [text, ms] of cases) {
    it(ms === undefined ? `rejects "${text}"` : `parses ${text} as ${ms} ms`, () => {
      expect(parseDuration(text)).to.equal(ms)
    })
  }
})
