import { InvalidError } from '../errors.ts'
import { OutboundError } from './outbound-error.ts'
import { checkUrl } from './check-url.ts'

/**
 * The URL that somebody gave us to call later, if it may be called as far as its text tells.
 * @throws InvalidError that names the input at `path`
 */
export function assertCallable(text: string, path: string, rules: { allowsLoopback: boolean }): URL {
  try {
    return checkUrl(text, rules)
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const message = error.message.replace(/^The URL /, '')
    throw new InvalidError(`${path} ${message}`, [{ path, message }], undefined, { cause: error })
  }
}
