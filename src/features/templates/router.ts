import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { createTemplate, deleteTemplate, updateTemplate } from './changes.ts'
import { getTemplate, listTemplates, listTemplateUses } from './queries.ts'
import { previewTemplate } from './preview-template.ts'
import * as schema from './schema.ts'
import { submitTemplate } from './submit-template.ts'
import { syncTemplates } from './sync-templates.ts'

const CONTENT = {
  name: 'spring_sale',
  language: 'en',
  category: 'marketing',
  components: [
    { type: 'BODY', text: 'The spring sale starts today.' },
    { type: 'FOOTER', text: 'Reply STOP to unsubscribe' },
  ],
} as const

const CREATE = {
  status: 201,
  description:
    'On the sandbox channel the template is approved at once, on other channels it is a draft. A template of only a text can be created with `body` instead of `components`.',
  example: { channelId: '0199a7a0-0000-7000-8000-000000000001', ...CONTENT },
} as const

const UPDATE = {
  description:
    'Only drafts and rejected templates can be changed, and those of the sandbox. A rejected one becomes a draft, whose name and language the provider knows already and which therefore stay. Components replace all others.',
  example: CONTENT,
} as const

const DELETE = {
  status: 204,
  description:
    'A template that a workflow or a broadcast uses cannot be deleted. It is deleted at the provider as well.',
  callsProvider: true,
} as const

const SUBMIT = {
  description:
    'The provider reviews the template: it is pending until a webhook or a synchronization reports the decision. The sandbox approves at once.',
  callsProvider: true,
} as const

const SYNC = {
  description:
    'Pages through the list of the provider: creates and updates the templates of the channel, and marks those as deleted that the provider does not have any more. The sandbox has no provider, and nothing changes.',
  callsProvider: true,
} as const

const PREVIEW = {
  unaudited: 'it stores nothing',
  scope: 'templates:read',
  description:
    'Shows the message that the template makes of the parameters. Placeholders in them, such as {{contact.name}}, read the contact. Nothing is sent, and the template need not be approved.',
  example: { params: { first_name: '{{contact.name}}' } },
} as const

export const templatesRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/templates', 'List templates', { description: 'Sorted by creation time, newest first.' }))
    .input(omittable(schema.ListTemplates))
    .output(schema.TemplatePage)
    .query(({ ctx, input }) => listTemplates(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/templates', 'Create a template', CREATE))
    .input(schema.CreateTemplate)
    .output(schema.Template)
    .mutation(({ ctx, input }) => createTemplate(ctx.scope, input)),

  sync: adminProcedure
    .meta(rest('POST', '/templates/sync', 'Synchronize the templates of a channel', SYNC))
    .input(schema.SyncTemplates)
    .output(schema.SyncResult)
    .mutation(({ ctx, input }) => syncTemplates(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/templates/{templateId}', 'Get a template', {
        description: 'Returns the components of the template, its variables and its approval by the provider.',
      }),
    )
    .input(schema.TemplateRef)
    .output(schema.Template)
    .query(({ ctx, input }) => getTemplate(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/templates/{templateId}', 'Update a template', UPDATE))
    .input(schema.UpdateTemplate)
    .output(schema.Template)
    .mutation(({ ctx, input }) => updateTemplate(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/templates/{templateId}', 'Delete a template', DELETE))
    .input(schema.TemplateRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteTemplate(ctx.scope, input)),

  submit: adminProcedure
    .meta(rest('POST', '/templates/{templateId}/submit', 'Submit a template for approval', SUBMIT))
    .input(schema.TemplateRef)
    .output(schema.Template)
    .mutation(({ ctx, input }) => submitTemplate(ctx.scope, input)),

  preview: viewerProcedure
    .meta(rest('POST', '/templates/{templateId}/preview', 'Preview a message from a template', PREVIEW))
    .input(schema.PreviewTemplate)
    .output(schema.TemplatePreview)
    .mutation(({ ctx, input }) => previewTemplate(ctx.scope, input)),

  listUses: viewerProcedure
    .meta(
      rest('GET', '/templates/{templateId}/uses', 'List the uses of a template', {
        description: 'Lists at most 100 workflows that are not archived, and at most 100 broadcasts.',
      }),
    )
    .input(schema.TemplateRef)
    .output(schema.TemplateUses)
    .query(({ ctx, input }) => listTemplateUses(ctx.scope, input)),
})
