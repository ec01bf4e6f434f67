import { z } from 'zod'
import { id, timestamp, text } from '../../trpc/schemas.ts'

export const tagName = text(50)

const color = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #64748B')
  .transform((value) => value.toUpperCase())
  .meta({ override: { type: 'string' }, examples: ['#64748B'] })
const description = text(500, 0)

export const Tag = z
  .object({
    id,
    name: z.string(),
    color: z.string(),
    description: z.string().nullable(),
    contactCount: z.int(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Tag' })
export type Tag = z.infer<typeof Tag>

export const Tags = z.object({ items: z.array(Tag) })

export const TagRef = z.strictObject({ tagId: id })
export type TagRef = z.infer<typeof TagRef>

export const CreateTag = z.strictObject({ name: tagName, color: color.optional(), description: description.nullish() })
export type CreateTag = z.infer<typeof CreateTag>

export const UpdateTag = z.strictObject({
  tagId: id,
  name: tagName.optional(),
  color: color.optional(),
  description: description.nullish(),
})
export type UpdateTag = z.infer<typeof UpdateTag>
