/** Parts of the names of secrets, without separators. */
const WORDS =
  /authorization|password|passwd|passphrase|secret|token|apikey|accesskey|privatekey|signingkey|cookie|credential|sessionid|bearer|cvv|pincode/
/** Names of secrets that are harmless as a part of another name. */
const WHOLE = new Set(['auth', 'pin', 'otp', 'cvc', 'pwd', 'xauth', 'signature'])
/** Counts, limits and references that share a word with a secret. */
const HARMLESS = new Set([
  'credentialid',
  'tokens',
  'maxtokens',
  'inputtokens',
  'outputtokens',
  'prompttokens',
  'completiontokens',
  'totaltokens',
])

/** Returns true if the value of a header or field with this name is probably a secret. */
export function isSensitiveName(name: string): boolean {
  const word = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return !HARMLESS.has(word) && (WHOLE.has(word) || WORDS.test(word))
}
