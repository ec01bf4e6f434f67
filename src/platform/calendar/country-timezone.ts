import { setImmediate } from 'node:timers/promises'
import { getCountries } from 'libphonenumber-js/min'
import { toWallTime } from './zoned-time.ts'

/** Times of summer and winter, by which zones are compared. */
const COMPARED = [Date.UTC(2026, 0, 15), Date.UTC(2026, 6, 15)]

const zones = new Map<string, string | null>()

/**
 * Returns the time zone of a country by its ISO 3166-1 alpha-2 code, if all of its zones have the same time; null for an
 * unknown country and for one with several, such as the United States.
 */
export function countryTimezone(country: unknown): string | null {
  if (typeof country !== 'string' || !/^[A-Z]{2}$/.test(country)) return null
  const known = zones.get(country)
  if (known !== undefined) return known
  const zone = findTimezone(country)
  zones.set(country, zone)
  return zone
}

function findTimezone(country: string): string | null {
  const [first, ...others] = listTimezones(country)
  if (first === undefined) return null
  const isSame = others.every((other) => COMPARED.every((at) => toWallTime(at, other) === toWallTime(at, first)))
  return isSame ? first : null
}

/** Lists the zones of a country. Older versions of Node.js have them as a property, later ones as a method. */
function listTimezones(country: string): string[] {
  const locale = new Intl.Locale(`und-${country}`)
  const method: unknown = Reflect.get(locale, 'getTimeZones')
  const list: unknown = typeof method === 'function' ? method.call(locale) : Reflect.get(locale, 'timeZones')
  return Array.isArray(list) ? list.map(String) : []
}

let countries: Promise<Map<string, string>> | undefined

/** Returns the ISO 3166-1 alpha-2 code of the country of a time zone; null for one of no country, such as UTC. */
export async function timezoneCountry(timezone: string): Promise<string | null> {
  countries ??= mapCountries()
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions()
  return (await countries).get(timeZone) ?? null
}

/** Maps each zone to its country. The zones of one country take up to a millisecond, so other work is done meanwhile. */
async function mapCountries(): Promise<Map<string, string>> {
  const map = new Map<string, string>()
  for (const country of getCountries()) {
    for (const zone of listTimezones(country)) map.set(zone, country)
    await setImmediate()
  }
  return map
}
