/** Parts of names that carry a secret, without their separators. */
const WORDS =
  /authorization|password|passwd|passphrase|secret|token|apikey|accesskey|privatekey|signingkey|cookie|credential|sessionid|bearer|cvv|pincode/
/** Names that are secret as a whole, and harmless as part of another. */
const WHOLE = new Set(['auth', 'pin', 'otp', 'cvc', 'pwd', 'xauth', 'signature'])
/** Counts and limits that share a word with a secret. */
const HARMLESS = new Set([
  'tokens',
  'maxtokens',
  'inputtokens',
  'outputtokens',
  'prompttokens',
  'completiontokens',
  'totaltokens',
])

/** Whether what stands under this name, of a header or a field, is probably a secret. */
export function isSensitiveName(name: string): boolean {
  const word = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return !HARMLESS.has(word) && (WHOLE.has(word) || WORDS.test(word))
}
