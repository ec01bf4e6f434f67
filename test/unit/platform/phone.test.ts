import { expect } from 'chai'
import { getCountries, getCountryCallingCode, parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { phoneCountry } from '../../../src/platform/phone.ts'

/** Beginnings of numbers within a country: with zeros, which are dialed before the number in some, and without. */
const BEGINNINGS = ['', '0', '00', '1', '2', '5', '7', '9', '11', '800', '999']
/** Calling codes have up to three digits. */
const CODES_MAX = 999

describe('phoneCountry', () => {
  it('returns the country that libphonenumber finds, for numbers of all lengths with every calling code', () => {
    const codes = Array.from({ length: CODES_MAX }, (_, index) => String(index + 1))
    const numbers = codes.flatMap((code) =>
      BEGINNINGS.flatMap((beginning) => [7, 11, 15].map((length) => `+${code}${beginning}`.padEnd(length + 1, '4321'))),
    )
    const differing = numbers.filter(
      (number) => phoneCountry(number) !== (parsePhoneNumberFromString(number)?.country ?? null),
    )
    expect(differing).to.deep.equal([])
  })

  it('returns a country for each calling code that only one country has', () => {
    const codes = getCountries().map((country) => getCountryCallingCode(country))
    const only = getCountries().filter((country) => {
      const code = getCountryCallingCode(country)
      return codes.indexOf(code) === codes.lastIndexOf(code)
    })
    const found = only.map((country) => phoneCountry(`+${getCountryCallingCode(country)}123456`))
    expect(found).to.deep.equal(only)
    expect(only).to.include.members(['DE', 'BR', 'IN'])
  })
})
