import { expect } from 'chai'
import { latestOccurrence, nextOccurrence, cronError } from '../../../src/platform/calendar/cron.ts'

function nextOccurrences(cron: string, timezone: string, after: string, count: number): string[] {
  const occurrences: string[] = []
  for (let at = nextOccurrence(cron, timezone, new Date(after)); at && occurrences.length < count;) {
    occurrences.push(at.toISOString().replace(':00.000Z', 'Z'))
    at = nextOccurrence(cron, timezone, at)
  }
  return occurrences
}

describe('cronError', () => {
  for (const cron of ['* * * * *', '*/15 9-17 * * mon-fri', '0 9 L * *', '0 0 29 2 *', '0 9 1,15 * 5']) {
    it(`accepts ${cron}`, () => {
      expect(cronError(cron)).to.equal(undefined)
    })
  }
  for (const cron of ['', '* * * *', '0 0 9 * * *', '@daily', '60 * * * *', '0 0 30 2 *', '2026-03-02T09:00:00']) {
    it(`rejects ${JSON.stringify(cron)}`, () => {
      expect(cronError(cron)).to.be.a('string')
    })
  }
})

describe('nextOccurrence', () => {
  it('returns an occurrence strictly after the given time', () => {
    expect(nextOccurrences('0 9 * * *', 'UTC', '2026-03-02T09:00:00Z', 1)).to.deep.equal(['2026-03-03T09:00Z'])
    expect(nextOccurrences('0 9 * * *', 'UTC', '2026-03-02T08:59:59.999Z', 1)).to.deep.equal(['2026-03-02T09:00Z'])
  })

  it('uses the local time of the time zone before and after a daylight saving change', () => {
    const berlin = nextOccurrences('0 9 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 2)
    expect(berlin).to.deep.equal(['2026-03-28T08:00Z', '2026-03-29T07:00Z'])
  })

  it('returns the time of the clock change when its local time is skipped', () => {
    const berlin = nextOccurrences('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)
    expect(berlin).to.deep.equal(['2026-03-29T01:00Z', '2026-03-30T00:30Z'])
  })

  it('returns the first of two equal local times when clocks are set back', () => {
    const berlin = nextOccurrences('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)
    expect(berlin).to.deep.equal(['2026-10-25T00:30Z', '2026-10-26T01:30Z'])
  })

  it('fires each time of a list of hours once when the clocks go back', () => {
    const berlin = nextOccurrences('0 2,3 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 3)
    expect(berlin).to.deep.equal(['2026-10-25T00:00Z', '2026-10-25T02:00Z', '2026-10-26T01:00Z'])
  })

  it('fires skipped times of a list of hours at the moment when the clocks go forward', () => {
    const newYork = nextOccurrences('15 1,2,3 * * *', 'America/New_York', '2026-03-08T05:30:00Z', 4)
    expect(newYork).to.deep.equal(['2026-03-08T06:15Z', '2026-03-08T07:00Z', '2026-03-08T07:15Z', '2026-03-09T05:15Z'])
  })

  it('fires steps and ranges of hours once per wall time through both clock changes', () => {
    const autumn = nextOccurrences('30 */2 * * *', 'Europe/Berlin', '2026-10-24T22:00:00Z', 3)
    expect(autumn).to.deep.equal(['2026-10-24T22:30Z', '2026-10-25T00:30Z', '2026-10-25T03:30Z'])
    const spring = nextOccurrences('0,30 1-3 * * *', 'Europe/Berlin', '2026-03-28T23:30:00Z', 6)
    expect(spring).to.deep.equal([
      '2026-03-29T00:00Z',
      '2026-03-29T00:30Z',
      '2026-03-29T01:00Z',
      '2026-03-29T01:30Z',
      '2026-03-29T23:00Z',
      '2026-03-29T23:30Z',
    ])
  })

  it('returns every hour across a daylight saving change', () => {
    const berlin = nextOccurrences('0 * * * *', 'Europe/Berlin', '2026-10-24T23:30:00Z', 3)
    expect(berlin).to.deep.equal(['2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z'])
  })

  it('skips months without the day and supports the last day of the month', () => {
    expect(nextOccurrences('0 9 31 * *', 'UTC', '2026-01-31T10:00:00Z', 2)).to.deep.equal([
      '2026-03-31T09:00Z',
      '2026-05-31T09:00Z',
    ])
    expect(nextOccurrences('0 9 L * *', 'UTC', '2026-01-31T10:00:00Z', 2)).to.deep.equal([
      '2026-02-28T09:00Z',
      '2026-03-31T09:00Z',
    ])
  })
})

describe('latestOccurrence', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'America/St_Johns']
  for (const timezone of zones) {
    it(`is the inverse of nextOccurrence in ${timezone}`, () => {
      for (const cron of ['30 2 * * *', '*/20 * * * *', '59 23 L * *', '15 1 * * sun', '0,40 1-4/2 * * *']) {
        let previous: Date | undefined
        let at = nextOccurrence(cron, timezone, new Date('2026-03-28T00:00:00Z'))
        for (let count = 0; at && count < 200; count += 1) {
          expect(latestOccurrence(cron, timezone, at)).to.deep.equal(at)
          const latestBefore = latestOccurrence(cron, timezone, new Date(at.getTime() - 1))
          if (previous) expect(latestBefore).to.deep.equal(previous)
          previous = at
          at = nextOccurrence(cron, timezone, at)
        }
      }
    })
  }
})
