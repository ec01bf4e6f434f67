import { z } from 'zod'
import { id, timestamp, page, toPage, text } from '../../trpc/schemas.ts'

const name = z
  .string()
  .regex(/^[a-z0-9_]{1,512}$/, 'must have 1 to 512 lower-case letters, digits and underscores')
  .meta({ examples: ['spring_sale'] })
const language = z
  .string()
  .regex(/^[a-z]{2,3}(_[A-Z]{2})?$/, 'must be a language code such as en or pt_BR')
  .meta({ examples: ['pt_BR'] })
const category = z.enum(['marketing', 'utility', 'authentication'])

export const Template = z
  .object({
    id,
    channelId: id,
    name: z.string(),
    language: z.string(),
    category,
    status: z.enum(['draft', 'pending', 'approved', 'rejected', 'paused', 'disabled']),
    body: z.string(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Template' })
export type Template = z.infer<typeof Template>

export const TemplatePage = toPage(Template)

export const TemplateRef = z.strictObject({ templateId: id })
export type TemplateRef = z.infer<typeof TemplateRef>

export const ListTemplates = z.strictObject(page)
export type ListTemplates = z.infer<typeof ListTemplates>

export const CreateTemplate = z.strictObject({ channelId: id, name, language, category, body: text(1024) })
export type CreateTemplate = z.infer<typeof CreateTemplate>
