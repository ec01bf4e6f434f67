import { didYouMean } from './closest-matches.ts'
import { NAME_SEPARATOR } from './validation-messages.ts'

/** Completes the name of an unknown field. `message` is that of the issue: the names that the object may have. */
export function describeUnknownField(key: string, message: string, owner: string): string {
  const suggestion = didYouMean(key, message.split(NAME_SEPARATOR))
  return `is not a field of ${owner}${suggestion === undefined ? '' : `. ${suggestion}`}`
}
