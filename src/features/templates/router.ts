import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createTemplate } from './create-template.ts'
import { deleteTemplate } from './delete-template.ts'
import { getTemplate, listTemplates } from './queries.ts'
import { CreateTemplate, ListTemplates, Template, TemplatePage, TemplateRef } from './schema.ts'

const CREATE = {
  status: 201,
  description:
    'On the sandbox channel the template is approved at once, on other channels it is a draft. A template of only a text can be created with `body` instead of `components`.',
  example: {
    channelId: '0199a7a0-0000-7000-8000-000000000001',
    name: 'spring_sale',
    language: 'en',
    category: 'marketing',
    components: [
      { type: 'BODY', text: 'The spring sale starts today.' },
      { type: 'FOOTER', text: 'Reply STOP to unsubscribe' },
    ],
  },
} as const

const DELETE = { status: 204, description: 'A template that a broadcast uses cannot be deleted.' } as const

export const templatesRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/templates', 'List templates', { description: 'Sorted by creation time, newest first.' }))
    .input(ListTemplates)
    .output(TemplatePage)
    .query(({ ctx, input }) => listTemplates(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/templates', 'Create a template', CREATE))
    .input(CreateTemplate)
    .output(Template)
    .mutation(({ ctx, input }) => createTemplate(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/templates/{templateId}', 'Get a template', {
        description: 'Returns the text of the template and its approval by the provider.',
      }),
    )
    .input(TemplateRef)
    .output(Template)
    .query(({ ctx, input }) => getTemplate(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/templates/{templateId}', 'Delete a template', DELETE))
    .input(TemplateRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteTemplate(ctx.scope, input)),
})
