import { dictionary } from '@zxcvbn-ts/language-common'

let passwords: ReadonlySet<string> | undefined

/** Returns true for one of the about 49,000 most common passwords of published lists, whatever its case. */
export function isCommonPassword(password: string): boolean {
  passwords ??= new Set(dictionary['passwords-common'])
  return passwords.has(password.toLowerCase().normalize('NFKC'))
}
