import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { hasOneSource, ONE_SOURCE, SOURCE_SCHEMA } from '../../message-content/content-shape.ts'
import { FETCHABLE_URL, isFetchableUrl } from '../../message-content/content.ts'
import { FILENAME_MAX } from '../../message-content/limits.ts'
import type { MediaContent } from '../../message-content/content.ts'
import { type FileKind, findFileProblem, nameDocument, type StoredFile } from '../../message-content/stored-file.ts'

/** An http or https address; one with placeholders is checked when they are filled in. */
export const fetchableUrl = templateText
  .refine((url) => url.includes('{{') || isFetchableUrl(url), {
    message: FETCHABLE_URL,
    params: { code: 'invalid_media_url' },
  })
  .meta({ anyOf: [{ pattern: '\\{\\{' }, { pattern: '^[hH][tT][tT][pP][sS]?://' }] })

/** ID of a stored file, which is known before the workflow runs, so it has no placeholders. */
export const mediaId = z.string().min(1, 'must not be empty').max(64)

/** Paths of the IDs of stored files. */
export function mediaPaths(message: string): string[] {
  return [`${message}.media.mediaId`, `${message}.sticker.mediaId`]
}

/** A file of the workspace, or one that the channel's provider fetches from its URL. */
export const Media = z
  .strictObject({
    type: z.enum(['image', 'video', 'audio', 'document']),
    url: fetchableUrl.optional(),
    mediaId: mediaId.optional(),
    filename: templateText.max(FILENAME_MAX).optional(),
  })
  .refine(({ type, filename }) => filename === undefined || type === 'document', {
    message: 'is only allowed for a document',
    path: ['filename'],
  })
  .refine(hasOneSource, ONE_SOURCE)
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  .meta({ if: { required: ['filename'] }, then: { properties: { type: { const: 'document' } } }, ...SOURCE_SCHEMA })

export function fillMedia({ type, url, mediaId: id, filename }: MediaContent, context: StepContext): MediaContent {
  // Cuts by code points, because half of a surrogate pair cannot be stored.
  const name = filename === undefined ? '' : [...context.text(filename).trim()].slice(0, FILENAME_MAX).join('')
  const named = name ? { filename: name } : {}
  if (id !== undefined) {
    return nameDocument({ type, mediaId: id, ...named }, findSendable({ kind: type, mediaId: id }, context))
  }
  return { type, url: fillUrl(url ?? '', context), ...named }
}

function fillUrl(url: string, context: StepContext): string {
  const address = context.text(url).trim()
  if (!isFetchableUrl(address)) {
    const message = `"${address.slice(0, 100)}" is not an http or https address`
    throw new StepError('invalid_media_url', message, { retryable: false })
  }
  return address
}

/** The name under which the stored files that a workflow refers to are among its resources. */
export const MEDIA_RESOURCES = 'media'

/** A stored file that a step refers to. */
export type MediaResource = StoredFile & { mediaId: string }

/**
 * Finds a file that is in the workspace and can be sent as a message of a kind.
 * @throws StepError `unknown_media`, `media_not_sendable`
 */
export function findSendable(
  { kind, mediaId: id }: { kind: FileKind; mediaId: string },
  context: StepContext,
): StoredFile {
  const resources = context.facts.resources?.[MEDIA_RESOURCES]
  const file = isResourceList(resources) ? resources.find((one) => one.mediaId === id.toLowerCase()) : undefined
  if (!file) {
    const message = 'The file does not exist any more. Upload it again with POST /api/media, or choose another one'
    throw new StepError('unknown_media', message, { retryable: false })
  }
  const problem = findFileProblem(kind, file)
  if (problem !== undefined) throw new StepError('media_not_sendable', problem, { retryable: false })
  return file
}

function isResourceList(value: unknown): value is MediaResource[] {
  return Array.isArray(value)
}
