import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createTemplate } from './create-template.ts'
import { deleteTemplate } from './delete-template.ts'
import { getTemplate } from './get-template.ts'
import { listTemplates } from './list-templates.ts'
import { CreateTemplate, ListTemplates, Template, TemplatePage, TemplateRef } from './schema.ts'

export const templatesRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/templates', 'List templates'))
    .input(ListTemplates)
    .output(TemplatePage)
    .query(({ ctx, input }) => listTemplates(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/templates', 'Create a template', { status: 201 }))
    .input(CreateTemplate)
    .output(Template)
    .mutation(({ ctx, input }) => createTemplate(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/templates/{id}', 'Get a template'))
    .input(TemplateRef)
    .output(Template)
    .query(({ ctx, input }) => getTemplate(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/templates/{id}', 'Delete a template that no broadcast uses', { status: 204 }))
    .input(TemplateRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteTemplate(ctx.scope, input)),
})
