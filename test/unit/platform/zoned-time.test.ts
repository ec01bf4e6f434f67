import { expect } from 'chai'
import { isTimezone, parseInstant } from '../../../src/platform/calendar/zoned-time.ts'

describe('parseInstant', () => {
  const cases: [text: string, timezone: string, instant: string | undefined][] = [
    ['2026-03-02T10:00:00Z', 'America/Sao_Paulo', '2026-03-02T10:00:00Z'],
    ['2026-03-02t10:00z', 'UTC', '2026-03-02T10:00:00Z'],
    ['2026-03-02T10:00:00.25+05:30', 'UTC', '2026-03-02T04:30:00.250Z'],
    ['2026-03-02T10:00:00-0300', 'UTC', '2026-03-02T13:00:00Z'],
    ['2026-03-02 10:00', 'America/Sao_Paulo', '2026-03-02T13:00:00Z'],
    ['2026-03-02', 'America/Sao_Paulo', '2026-03-02T03:00:00Z'],
    [' 2026-03-02 ', 'UTC', '2026-03-02T00:00:00Z'],
    ['2026-07-01T12:00', 'Europe/Berlin', '2026-07-01T10:00:00Z'],
    ['2026-01-01T12:00', 'Europe/Berlin', '2026-01-01T11:00:00Z'],
    // Skipped by a clock change: its instant.
    ['2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:00:00Z'],
    ['2026-03-08T02:30', 'America/New_York', '2026-03-08T07:00:00Z'],
    ['2026-10-04T02:15', 'Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
    // Occurs twice: the first time.
    ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00Z'],
    ['2026-11-01T01:30', 'America/New_York', '2026-11-01T05:30:00Z'],
    ['2026-03-29T03:30', 'Europe/Berlin', '2026-03-29T01:30:00Z'],
    ['2026-10-25T01:30', 'Europe/Berlin', '2026-10-24T23:30:00Z'],
    ['2026-10-25T03:30', 'Europe/Berlin', '2026-10-25T02:30:00Z'],
    ['2026-03-02T00:00', 'Pacific/Kiritimati', '2026-03-01T10:00:00Z'],
    ['2024-02-29', 'UTC', '2024-02-29T00:00:00Z'],
    ['2026-02-29', 'UTC', undefined],
    ['2026-13-01', 'UTC', undefined],
    ['2026-00-10', 'UTC', undefined],
    ['2026-03-02T24:00', 'UTC', undefined],
    ['2026-03-02T10', 'UTC', undefined],
    ['02/03/2026', 'UTC', undefined],
    ['tomorrow', 'UTC', undefined],
    ['', 'UTC', undefined],
  ]
  for (const [text, timezone, instant] of cases) {
    it(`parses "${text}" in ${timezone} as ${instant ?? 'invalid'}`, () => {
      expect(parseInstant(text, timezone)).to.equal(instant === undefined ? undefined : Date.parse(instant))
    })
  }
})

describe('isTimezone', () => {
  it('accepts only time zones of the IANA database', () => {
    expect(['UTC', 'America/Sao_Paulo', 'Europe/Lisbon'].map(isTimezone)).to.deep.equal([true, true, true])
    expect(['', 'Mars/Phobos', 'contact'].map(isTimezone)).to.deep.equal([false, false, false])
  })
})
