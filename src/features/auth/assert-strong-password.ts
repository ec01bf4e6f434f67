import { UnprocessableError } from '../../platform/errors.ts'
import { isCommonPassword, isPredictable } from '../../platform/security/passwords.ts'

/**
 * Rejects passwords that are guessed first: common ones, repetitions, sequences, and those made of the user's own name or address.
 * @throws UnprocessableError `password_too_common`, with the field at `path`
 */
export async function assertStrongPassword(
  password: string,
  user: { email: string; name: string },
  path: string,
): Promise<void> {
  const problem = (await isCommonPassword(password))
    ? 'is one of the most common passwords. Choose another one'
    : isPredictable(password)
      ? 'is a repetition or a sequence of characters. Choose another one'
      : isAboutUser(password, user)
        ? 'is your name or email address. Choose another one'
        : undefined
  if (problem === undefined) return
  const field = path === 'password' ? 'The password' : 'The new password'
  throw new UnprocessableError('password_too_common', `${field} ${problem}`, [{ path, message: problem }])
}

function isAboutUser(password: string, { email, name }: { email: string; name: string }): boolean {
  const [localPart = ''] = email.split('@')
  const plain = toLetters(password)
  return [email, localPart, name, name.split(' ').toReversed().join('')].map(toLetters).includes(plain)
}

/** Compares without case, spaces and punctuation; digits at the end add nothing to a name. */
function toLetters(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replace(/\d{1,4}$/, '')
}
