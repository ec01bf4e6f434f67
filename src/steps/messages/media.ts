import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'

const URL_MAX = 2048
const FILENAME_MAX = 240

/** A file that the channel's provider fetches from its URL. */
export const Media = z
  .strictObject({
    type: z.enum(['image', 'video', 'audio', 'document']),
    url: templateText
      .refine((url) => url.includes('{{') || isFetchable(url), {
        message: 'must be an http or https address without a user name or password',
        params: { code: 'invalid_media_url' },
      })
      .meta({ anyOf: [{ pattern: '\\{\\{' }, { pattern: '^[hH][tT][tT][pP][sS]?://' }] }),
    filename: templateText.max(FILENAME_MAX).optional(),
  })
  .refine(({ type, filename }) => filename === undefined || type === 'document', {
    message: 'is only allowed for a document',
    path: ['filename'],
  })
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  .meta({ if: { required: ['filename'] }, then: { properties: { type: { const: 'document' } } } })
export type Media = z.output<typeof Media>

export function fillMedia({ type, url, filename }: Media, context: StepContext): Media {
  const address = context.text(url).trim()
  if (!isFetchable(address)) {
    const message = `"${address.slice(0, 100)}" is not an http or https address`
    throw new StepError('invalid_media_url', message, { retryable: false })
  }
  // Cuts by code points, because half of a surrogate pair cannot be stored.
  const name = filename === undefined ? '' : [...context.text(filename).trim()].slice(0, FILENAME_MAX).join('')
  return { type, url: address, ...(name ? { filename: name } : {}) }
}

function isFetchable(text: string): boolean {
  if (text.length > URL_MAX || !URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'https:' || protocol === 'http:') && !username && !password
}
