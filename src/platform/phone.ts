import { parsePhoneNumberFromString } from 'libphonenumber-js/min'

const E164 = /^\+[1-9]\d{6,14}$/

/**
 * Removes spaces and punctuation; undefined if the rest is no international number. Numbers are not checked against
 * numbering plans, which do not contain test numbers and some real ones.
 */
export function toE164(text: string): string | undefined {
  const number = text.replaceAll(/[\s().-]/g, '')
  return E164.test(number) ? number : undefined
}

/** Returns the ISO 3166-1 alpha-2 code of the country, or null if the numbering plan does not determine it. */
export function phoneCountry(e164: string): string | null {
  return parsePhoneNumberFromString(e164)?.country ?? null
}
