import { expect } from 'chai'
import { parseUtcTime, toIsoTime } from '../../../src/platform/iso-time.ts'

describe('toIsoTime', () => {
  for (const text of [
    '2026-11-22T18:13:35.123Z',
    '2026-01-02T03:04:05.006Z',
    '2024-02-29T23:59:59.999Z',
    '1969-12-31T23:59:59.001Z',
    '0099-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z',
    '+012026-01-01T00:00:00.000Z',
  ]) {
    it(`formats ${text} as toISOString does`, () => expect(toIsoTime(new Date(text))).to.equal(text))
  }

  it('throws for an invalid time as toISOString does', () => {
    expect(() => toIsoTime(new Date(Number.NaN))).to.throw(RangeError)
  })
})

describe('parseUtcTime', () => {
  for (const [text, time] of [
    ['2026-11-22 18:13:35.123456+00', '2026-11-22T18:13:35.123Z'],
    ['2026-11-22 18:13:35.999999+00', '2026-11-22T18:13:35.999Z'],
    ['2026-11-22 18:13:35.12+00', '2026-11-22T18:13:35.120Z'],
    ['2026-11-22 18:13:35.1+00', '2026-11-22T18:13:35.100Z'],
    ['2024-02-29 00:00:00+00', '2024-02-29T00:00:00.000Z'],
    ['1969-12-31 23:59:59.001+00', '1969-12-31T23:59:59.001Z'],
  ] as const) {
    it(`parses ${text}`, () => expect(parseUtcTime(text)).to.deep.equal(new Date(time)))
  }

  for (const text of [
    '2026-11-22 18:13:35.123456+01',
    '2026-11-22 18:13:35.123456+05:30',
    '2026-11-22 18:13:35',
    '0099-11-22 18:13:35+00',
    '12026-11-22 18:13:35+00',
    '0044-03-15 00:00:00+00 BC',
    'infinity',
    '-infinity',
    '',
  ]) {
    it(`leaves "${text}" to another parser`, () => expect(parseUtcTime(text)).to.equal(undefined))
  }
})
