import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { FETCHABLE_URL, isFetchableUrl } from '../../message-content/content.ts'
import { FILENAME_MAX } from '../../message-content/limits.ts'

/** An http or https address; one with placeholders is checked when they are filled in. */
export const fetchableUrl = templateText
  .refine((url) => url.includes('{{') || isFetchableUrl(url), {
    message: FETCHABLE_URL,
    params: { code: 'invalid_media_url' },
  })
  .meta({ anyOf: [{ pattern: '\\{\\{' }, { pattern: '^[hH][tT][tT][pP][sS]?://' }] })

/** A file that the channel's provider fetches from its URL. */
export const Media = z
  .strictObject({
    type: z.enum(['image', 'video', 'audio', 'document']),
    url: fetchableUrl,
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
  if (!isFetchableUrl(address)) {
    const message = `"${address.slice(0, 100)}" is not an http or https address`
    throw new StepError('invalid_media_url', message, { retryable: false })
  }
  // Cuts by code points, because half of a surrogate pair cannot be stored.
  const name = filename === undefined ? '' : [...context.text(filename).trim()].slice(0, FILENAME_MAX).join('')
  return { type, url: address, ...(name ? { filename: name } : {}) }
}
