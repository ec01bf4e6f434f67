import { z } from 'zod'
import { contentShape } from './content-shape.ts'
import { URL_MAX } from './limits.ts'
import type { FileKind } from './stored-file.ts'

/** Returns true for an http or https address without credentials, which a provider can fetch. */
export function isFetchableUrl(text: string): boolean {
  if (text.length > URL_MAX || !URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'https:' || protocol === 'http:') && !username && !password
}

export const FETCHABLE_URL = 'must be an http or https address without a user name or password'

/** Parts of a message beside text, files, buttons and templates, complete and within the limits of channels. */
export const ContentParts = z.object(
  contentShape({
    text: (max) => z.string().trim().min(1, 'must not be empty').max(max, `must have at most ${max} characters`),
    url: z.string().trim().refine(isFetchableUrl, FETCHABLE_URL),
    degrees: (max) => z.number(`must be a number from -${max} to ${max}`).min(-max).max(max),
    messageId: z.string().trim().min(1, 'must not be empty').max(64),
    mediaId: z.string().trim().min(1, 'must not be empty').max(64),
  }),
)
export type ContentParts = Partial<z.output<typeof ContentParts>>

const FileParts = z.object({
  media: z
    .object({ type: z.enum(['image', 'video', 'audio', 'document']), mediaId: z.string() })
    .optional()
    .catch(undefined),
  sticker: z.object({ mediaId: z.string() }).optional().catch(undefined),
  template: z
    .object({ components: z.array(z.unknown()) })
    .optional()
    .catch(undefined),
})
const HeaderFile = z.object({
  type: z.literal('header'),
  parameters: z.tuple([
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('image'), image: z.object({ mediaId: z.string() }) }),
      z.object({ type: z.literal('video'), video: z.object({ mediaId: z.string() }) }),
      z.object({ type: z.literal('document'), document: z.object({ mediaId: z.string() }) }),
    ]),
  ]),
})

/** File of a message: one of the workspace, or one that the provider fetches from its URL. */
export type MediaContent = {
  type: Exclude<FileKind, 'sticker'>
  url?: string | undefined
  mediaId?: string | undefined
  /** Name of a document. */
  filename?: string | undefined
}

/** Option to reply with. */
export type ButtonOption = { id: string; title: string }

/** Option of a list, which buttons are shown as if they are many. */
export type ListOption = ButtonOption & { description?: string | undefined }

/** Approved template with the parameters of one message. `components` have the shape of the provider. */
export type TemplateContent = {
  id: string
  name: string
  language: string
  components: Record<string, unknown>[]
}

/** Content of an outbound message beside its text, as it is stored. */
export type OutboundContent = ContentParts & {
  media?: MediaContent | undefined
  buttons?: ButtonOption[] | undefined
  template?: TemplateContent | undefined
}

/**
 * Content of an inbound message beside its text: the parts of the provider by type, as far as they fit. `buttonId` is the
 * chosen option, `answers` are those to a Flow.
 */
export type InboundContent = { [type: string]: unknown; buttonId?: string; answers?: unknown; truncated?: true }

/** Kinds of content that no other goes with. */
const KINDS = ['template', 'sticker', 'location', 'contacts', 'reaction'] as const

/** Type of a stored message with this content, null for a text. */
export function toMessageType(content: OutboundContent | null): string {
  if (content === null) return 'text'
  const { media, buttons, list, link } = content
  return KINDS.find((kind) => content[kind]) ?? (media && !buttons && !list && !link ? media.type : 'interactive')
}

/** Text that lists show for content without a text of its own. */
export function toPreview({ location, contacts, reaction }: ContentParts): string | null {
  return location?.name ?? location?.address ?? contacts?.[0]?.name ?? reaction?.emoji ?? null
}

/** Stored file that a message or the header of its template has, with its kind; undefined if it has none. */
export function findFile(content: object | null): { kind: FileKind; mediaId: string } | undefined {
  const { media, sticker, template } = FileParts.safeParse(content).data ?? {}
  if (template) return findHeaderFile(template)
  if (media) return { kind: media.type, mediaId: media.mediaId }
  return sticker && { kind: 'sticker', mediaId: sticker.mediaId }
}

function findHeaderFile({ components }: { components: unknown[] }): { kind: FileKind; mediaId: string } | undefined {
  const [parameter] = components.map((component) => HeaderFile.safeParse(component).data?.parameters[0]).filter(Boolean)
  if (parameter?.type === 'image') return { kind: 'image', ...parameter.image }
  if (parameter?.type === 'video') return { kind: 'video', ...parameter.video }
  return parameter && { kind: 'document', ...parameter.document }
}
