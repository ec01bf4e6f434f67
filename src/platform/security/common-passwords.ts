let passwords: ReadonlySet<string> | undefined

/** Returns true for one of the about 49,000 most common passwords of published lists, whatever its case. */
export async function isCommonPassword(password: string): Promise<boolean> {
  passwords ??= await loadPasswords()
  return passwords.has(password.toLowerCase().normalize('NFKC'))
}

/** Loaded when the first password is chosen, as few processes need them. */
async function loadPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}

/** The longest group of characters whose repetition is no password. */
const GROUP_MAX = 4

/** Returns true for a repetition of up to four characters, and for neighbours in order, such as `abcdefgh`. */
export function isPredictable(password: string): boolean {
  const characters = [...password.toLowerCase().normalize('NFKC')]
  const repeats = (length: number) => characters.every((one, at) => at < length || one === characters[at - length])
  const isOrdered = (step: 1 | -1) =>
    characters.every((one, at) => {
      const previous = characters[at - 1]
      return previous === undefined || (one.codePointAt(0) ?? 0) - (previous.codePointAt(0) ?? 0) === step
    })
  const lengths = Array.from({ length: GROUP_MAX }, (_, index) => index + 1)
  return lengths.some(repeats) || isOrdered(1) || isOrdered(-1)
}
