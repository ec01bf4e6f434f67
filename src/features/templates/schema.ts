import { z } from 'zod'
import { checkComponents } from '../../channels/templates/check-components.ts'
import { type TemplateComponent, TemplateComponents, toBodyComponent } from '../../channels/templates/components.ts'
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

const status = z.enum([
  'draft',
  'pending',
  'approved',
  'rejected',
  'paused',
  'disabled',
  'in_appeal',
  'archived',
  'deleted',
])

const components = TemplateComponents.superRefine(addProblems).meta({
  id: 'TemplateComponents',
  description: `Header, body, footer and buttons in the shape of the Cloud API. The texts of the header (at most 60 characters and 1 variable) and of the body (at most 1024 characters) have either named variables, such as {{first_name}}, or positional ones, {{1}}, {{2}} and so on; each needs an example. The footer has at most 60 characters. There are at most 10 buttons with texts of at most 25 characters, among them at most 2 of type URL and 1 each of types PHONE_NUMBER, COPY_CODE and FLOW.`,
})

function addProblems(list: TemplateComponent[], issues: z.RefinementCtx): void {
  for (const { path, message } of checkComponents(list)) issues.addIssue({ code: 'custom', path, message })
}

export const TemplateVariable = z.object({
  name: z.string().meta({
    description:
      'Key of the value in the parameters of a message: the name of a named variable; 1, 2 ... for positional ones of the body, header.1 for that of the header; header.link, or header.mediaId of a stored file, and header.filename for a file; header.latitude, header.longitude, header.name and header.address for a location; button.0 ... for the end of an address, a code, a payload or a flow token of a button',
  }),
  example: z.string().nullable(),
  where: z.enum(['header', 'body', 'button']),
  required: z.boolean().meta({ description: 'header.mediaId replaces header.link' }),
})

export const Template = z
  .object({
    id,
    channelId: id,
    name: z.string(),
    language: z.string(),
    category,
    status: status.meta({ description: 'Only an approved template can be sent' }),
    body: z.string().meta({ description: 'Text of the component BODY' }),
    components: z.array(z.record(z.string(), z.unknown())),
    parameterFormat: z.enum(['named', 'positional']).nullable(),
    variables: z.array(TemplateVariable),
    quality: z.enum(['green', 'yellow', 'red']).nullable(),
    rejectionReason: z.string().nullable(),
    providerTemplateId: z.string().nullable(),
    suggestedCategory: category
      .nullable()
      .meta({ description: 'Category that the provider announced for the template, if it is another one' }),
    submittedAt: timestamp.nullable(),
    lastSyncedAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Template' })
export type Template = z.infer<typeof Template>

export const TemplatePage = toPage(Template)

export const TemplateRef = z.strictObject({ templateId: id })
export type TemplateRef = z.infer<typeof TemplateRef>

export const ListTemplates = z.strictObject({
  ...page,
  status: status.optional().meta({ description: 'Only templates with this status' }),
  category: category.optional().meta({ description: 'Only templates of this category' }),
  channelId: id.optional().meta({ description: 'Only templates of this channel' }),
  name: text(512).optional().meta({ description: 'Only templates whose name contains this text' }),
})
export type ListTemplates = z.infer<typeof ListTemplates>

/** Values of the variables of a template, by their names. */
export const TemplateParams = z
  .record(z.string().min(1, 'must not be empty').max(80, 'must have at most 80 characters'), text(4096, 0))
  .refine((params) => Object.keys(params).length <= 100, 'must have at most 100 entries')
  .meta({
    description:
      'Values of the variables of the template, by their names. They may contain placeholders such as {{contact.name}}',
    examples: [{ first_name: '{{contact.name}}' }],
  })

const body = text(1024)
  .superRefine((template, issues) => addProblems([toBodyComponent(template)], issues))
  .meta({
    description: 'Text of a template that has only a body. The examples of its variables are their names',
  })

export const CreateTemplate = z
  .strictObject({
    channelId: id,
    name,
    language,
    category,
    body: body.optional(),
    components: components.optional(),
  })
  .refine((template) => (template.body === undefined) !== (template.components === undefined), {
    message: 'is required, unless there is a body. Leave one of them out',
    path: ['components'],
  })
  .meta({ oneOf: [{ required: ['body'] }, { required: ['components'] }] })
export type CreateTemplate = z.infer<typeof CreateTemplate>

export const UpdateTemplate = z
  .strictObject({
    templateId: id,
    name: name.optional(),
    language: language.optional(),
    category: category.optional(),
    body: body.optional(),
    components: components.optional(),
  })
  .refine((template) => template.body === undefined || template.components === undefined, {
    message: 'is not allowed beside a body. Leave one of them out',
    path: ['components'],
  })
  .meta({ anyOf: [{ properties: { body: false } }, { properties: { components: false } }] })
export type UpdateTemplate = z.infer<typeof UpdateTemplate>

export const PreviewTemplate = z.strictObject({
  templateId: id,
  params: TemplateParams,
  contactId: id.nullish().meta({ description: 'Contact that the placeholders in the parameters read' }),
})
export type PreviewTemplate = z.infer<typeof PreviewTemplate>

export const TemplatePreview = z
  .object({
    header: z.string().nullable(),
    body: z.string(),
    footer: z.string().nullable(),
    buttons: z.array(z.object({ type: z.string(), text: z.string().nullable(), value: z.string().nullable() })),
    params: z.record(z.string(), z.string()).meta({ description: 'The parameters, placeholders filled in' }),
    components: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'Components of the message in the shape of the Cloud API' }),
  })
  .meta({ description: 'The message as the contact would see it' })
export type TemplatePreview = z.infer<typeof TemplatePreview>

export const TemplateUses = z
  .object({
    workflows: z.array(
      z.object({
        id,
        name: z.string(),
        status: z.enum(['draft', 'published', 'paused', 'archived']),
        inDraft: z.boolean().meta({ description: 'True if the draft sends it' }),
        inPublished: z.boolean().meta({ description: 'True if the published version sends it' }),
      }),
    ),
    broadcasts: z.array(z.object({ id, name: z.string(), status: z.string() })),
  })
  .meta({ description: 'The workflows and broadcasts that send the template' })
export type TemplateUses = z.infer<typeof TemplateUses>

export const SyncTemplates = z.strictObject({ channelId: id })
export type SyncTemplates = z.infer<typeof SyncTemplates>

export const SyncResult = z
  .object({
    total: z.int().meta({ description: 'Number of templates of the provider' }),
    created: z.int(),
    updated: z.int(),
    deleted: z.int().meta({ description: 'Templates that the provider does not have any more' }),
    skipped: z.int().meta({ description: 'Templates of the provider that cannot be read' }),
  })
  .meta({ description: 'The numbers of templates by what changed' })
export type SyncResult = z.infer<typeof SyncResult>
