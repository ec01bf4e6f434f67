import { z } from 'zod'
import { id, page, timestamp, toPage } from '../../trpc/schemas.ts'

export const Media = z
  .object({
    id,
    mimeType: z.string(),
    size: z.int().meta({ description: 'Size in bytes' }),
    filename: z.string().nullable(),
    sha256: z.string(),
    url: z.string().meta({
      description: 'Signed address of the content, below the public address of this server, valid for 5 minutes',
    }),
    createdAt: timestamp,
  })
  .meta({ id: 'Media' })
export type Media = z.infer<typeof Media>

export const ListMedia = z.strictObject({
  ...page,
  sort: z.enum(['-createdAt', 'createdAt']).default('-createdAt').meta({
    description: 'The order of the items; `-` means descending',
  }),
})
export type ListMedia = z.infer<typeof ListMedia>

export const MediaPage = toPage(Media)
  .extend({
    storedBytes: z.int().meta({ description: 'Size of all files of the workspace, at least 4 KB each' }),
    storedBytesMax: z.int().nullable().meta({ description: 'The quota of the workspace; null if it has none' }),
  })
  .meta({ description: 'The stored files' })
export type MediaPage = z.infer<typeof MediaPage>

export const MediaRef = z.strictObject({ mediaId: id })
export type MediaRef = z.infer<typeof MediaRef>

/** File of a message, which is fetched from the provider in the background. */
export const MessageMedia = z
  .object({
    id: id.nullable().meta({ description: 'ID of the stored file; null while it is not stored' }),
    mimeType: z.string().nullable(),
    size: z.int().nullable(),
    filename: z.string().nullable(),
    sha256: z.string().nullable(),
    status: z.enum(['pending', 'stored', 'failed', 'deleted']),
    error: z.string().nullable().meta({
      description: 'Why the file is not stored: the last attempt failed, or there is no room for it',
    }),
    url: z.string().nullable().meta({ description: 'Signed address of the file, valid for 5 minutes' }),
  })
  .meta({ id: 'MessageMedia' })
export type MessageMedia = z.infer<typeof MessageMedia>
