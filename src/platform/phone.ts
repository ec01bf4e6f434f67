import {
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  getExampleNumber,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/min'
import examples from 'libphonenumber-js/mobile/examples'

const E164 = /^\+[1-9]\d{6,14}$/

/** Spaces, dots, dashes of any kind, and the invisible marks of direction that copied numbers have. */
const SEPARATORS = /[\s.\p{Pd}\p{Cf}]/gu
/** Zero behind the country code that is only dialed within the country: `+44 (0)20`. */
const TRUNK_ZERO = /^(\+\(?\d{1,3}\)?)\(0\)/
/** Italy, San Marino, the Vatican, Côte d'Ivoire, Gabon and the Congo: there the zero is dialed from abroad, too. */
const KEEPS_ZERO = /^\+\(?(?:39|37[89]|225|24[12])/

/**
 * Removes spaces, punctuation and a zero in parentheses; undefined if the rest is no international number. Numbers are not
 * checked against numbering plans, which do not contain test numbers and some real ones.
 */
export function toE164(text: string): string | undefined {
  const number = removeTrunkZero(text).replaceAll(/[()]/g, '')
  return E164.test(number) ? number : undefined
}

/** Removes separators and the zero that is not dialed from abroad. The text may be the beginning of a number. */
export function removeTrunkZero(text: string): string {
  const number = text.replaceAll(SEPARATORS, '')
  return KEEPS_ZERO.test(number) ? number : number.replace(TRUNK_ZERO, '$1')
}

/** Returns the ISO 3166-1 alpha-2 code of the country, or null if the numbering plan does not determine it. */
export function phoneCountry(e164: string): string | null {
  const country = E164.test(e164) ? findOnlyCountry(e164) : undefined
  return country ?? parsePhoneNumberFromString(e164)?.country ?? null
}

const COUNTRIES = getCountries().map((country) => [getCountryCallingCode(country), country] as const)
const CODES = COUNTRIES.map(([code]) => code)
/** Countries that have a calling code of their own. Of these, no other digits of a number matter. */
const ONLY_COUNTRIES = new Map<string, CountryCode>(
  COUNTRIES.filter(([code]) => CODES.indexOf(code) === CODES.lastIndexOf(code)),
)

/** Calling codes have one to three digits, and none begins with another one. */
function findOnlyCountry(e164: string): CountryCode | undefined {
  return (
    ONLY_COUNTRIES.get(e164.slice(1, 3)) ?? ONLY_COUNTRIES.get(e164.slice(1, 4)) ?? ONLY_COUNTRIES.get(e164.slice(1, 2))
  )
}

/** Returns true for the ISO 3166-1 alpha-2 code of a country or territory with phone numbers. */
export function isCountry(code: string): boolean {
  return isSupportedCountry(code)
}

/** Returns a mobile number of a country that looks like a real one; null for an unknown country. */
export function examplePhone(country: string): string | null {
  return isSupportedCountry(country) ? (getExampleNumber(country, examples)?.number ?? null) : null
}

/** The second spellings of numbers, with the first one of each. The function to_phone_key of the database has the same. */
export const PHONE_SPELLINGS = [
  { pattern: /^\+55(\d\d)([016-9]\d{7})$/, replacement: '+55$19$2' },
  { pattern: /^\+521(\d{10})$/, replacement: '+52$1' },
  { pattern: /^\+549(\d{10})$/, replacement: '+54$1' },
]

/**
 * Returns the key that is the same for all spellings of one person's number; the number itself outside of these countries.
 * Brazilian mobile numbers exist with and without the ninth digit, Mexican ones with and without a 1 after 52, Argentinian
 * ones with and without a 9 after 54. Brazilian landlines begin with 2 to 5 and have no ninth digit.
 */
export function toPhoneKey(e164: string): string {
  return PHONE_SPELLINGS.reduce((key, { pattern, replacement }) => key.replace(pattern, replacement), e164)
}
