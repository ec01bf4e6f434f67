import { expect } from 'chai'
import { countryTimezone } from '../../../src/platform/calendar/country-timezone.ts'
import { toWallTime } from '../../../src/platform/calendar/zoned-time.ts'

describe('countryTimezone', () => {
  const NOW = Date.UTC(2026, 6, 1)
  const sameTime = (country: string, zone: string) => {
    const found = countryTimezone(country)
    expect(found, country).to.be.a('string')
    expect(toWallTime(NOW, found ?? 'UTC'), country).to.equal(toWallTime(NOW, zone))
  }

  it('returns the zone of a country with one time, although it may have several names for it', () => {
    sameTime('DE', 'Europe/Berlin')
    sameTime('AR', 'America/Argentina/Buenos_Aires')
    sameTime('IN', 'Asia/Kolkata')
    sameTime('GB', 'Europe/London')
  })

  it('returns null for countries with several times and for what is no country', () => {
    for (const country of ['US', 'BR', 'MX', 'RU', 'ES', 'ZZ', 'de', '', 'DEU', null, undefined, 7]) {
      expect(countryTimezone(country), String(country)).to.equal(null)
    }
  })
})
