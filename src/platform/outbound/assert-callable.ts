import { InvalidError } from '../errors.ts'
import { OutboundError } from './outbound-error.ts'
import { checkUrl } from './check-url.ts'

/**
 * Parses a URL that is to be called later, and checks everything that its text alone determines.
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
