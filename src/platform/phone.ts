import { parsePhoneNumberFromString } from 'libphonenumber-js/min'

const E164 = /^\+[1-9]\d{6,14}$/

/**
 * The number without spaces and punctuation, or undefined if what remains is no international number. Numbers are not
 * checked against numbering plans: test numbers and some real ones are unknown to them.
 */
export function toE164(given: string): string | undefined {
  const number = given.replaceAll(/[\s().-]/g, '')
  return E164.test(number) ? number : undefined
}

/** ISO 3166-1 alpha-2, or null where the numbering plan does not tell. */
export function phoneCountry(e164: string): string | null {
  return parsePhoneNumberFromString(e164)?.country ?? null
}
