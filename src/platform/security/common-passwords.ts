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
