import { z } from 'zod'
import {
  EMOJI_MAX,
  LABEL_MAX,
  LIST_DESCRIPTION_MAX,
  LIST_MAX,
  LIST_TITLE_MAX,
  OPTION_ID_MAX,
  PLACE_MAX,
  SHARED_CONTACTS_MAX,
} from './limits.ts'

/** Leaves of the content: the API takes plain values, workflow steps also texts with placeholders. */
type ContentFields<Text extends z.ZodType, Url extends z.ZodType, Degrees extends z.ZodType, Id extends z.ZodType> = {
  text: (max: number) => Text
  url: Url
  degrees: (max: number) => Degrees
  messageId: Id
  mediaId: z.ZodType<string>
}

const ENTRIES_MAX = 10

/** Returns true for a file with exactly one source: an address, or a stored file. */
export function hasOneSource({ url, mediaId }: { url?: unknown; mediaId?: unknown }): boolean {
  return (url === undefined) !== (mediaId === undefined)
}

export const ONE_SOURCE = { message: 'must have either a url or a mediaId' }
export const SOURCE_SCHEMA = { oneOf: [{ required: ['url'] }, { required: ['mediaId'] }] }

/**
 * Fields of the content that the API and the `send_message` step share. A caller builds its own schemas, because the REST
 * adapter changes those of a request.
 */
export function contentShape<
  Text extends z.ZodType<string>,
  Url extends z.ZodType<string>,
  Degrees extends z.ZodType,
  Id extends z.ZodType<string>,
>({ text, url, degrees, messageId, mediaId }: ContentFields<Text, Url, Degrees, Id>) {
  const sticker = z
    .strictObject({ url: url.optional(), mediaId: mediaId.optional() })
    .refine(hasOneSource, ONE_SOURCE)
    .meta(SOURCE_SCHEMA)
  const location = z.strictObject({
    latitude: degrees(90),
    longitude: degrees(180),
    name: text(PLACE_MAX).optional(),
    address: text(PLACE_MAX).optional(),
  })
  const contact = z.strictObject({
    name: text(200),
    phones: z
      .array(z.strictObject({ phone: text(40), type: text(20).optional() }))
      .max(ENTRIES_MAX, `must have at most ${ENTRIES_MAX} entries`)
      .optional(),
    emails: z
      .array(z.strictObject({ email: text(254), type: text(20).optional() }))
      .max(ENTRIES_MAX, `must have at most ${ENTRIES_MAX} entries`)
      .optional(),
    organization: z.strictObject({ company: text(200), title: text(200).optional() }).optional(),
  })
  const option = z.strictObject({
    id: text(OPTION_ID_MAX),
    title: text(LIST_TITLE_MAX),
    description: text(LIST_DESCRIPTION_MAX).optional(),
  })
  return {
    sticker: sticker.optional(),
    location: location.optional(),
    contacts: z
      .array(contact)
      .min(1, 'must have at least 1 entry')
      .max(SHARED_CONTACTS_MAX, `must have at most ${SHARED_CONTACTS_MAX} entries`)
      .optional(),
    reaction: z.strictObject({ messageId, emoji: text(EMOJI_MAX).nullable() }).optional(),
    list: z
      .strictObject({
        button: text(LABEL_MAX),
        options: z
          .array(option)
          .min(1, 'must have at least 1 entry')
          .max(LIST_MAX, `must have at most ${LIST_MAX} entries`),
      })
      .optional(),
    link: z.strictObject({ title: text(LABEL_MAX), url }).optional(),
  }
}
