import { listVariables, readTemplate } from '../../channels/templates/variables.ts'
import { Template as TemplateRow } from '../../models/messaging/template.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import type { ListTemplates, Template, TemplateRef } from './schema.ts'

export function toTemplate(row: TemplateRow): Template {
  const template = readTemplate(row.components)
  return { ...row, variables: template ? listVariables(template) : [] }
}

/** @throws NotFoundError */
export async function getTemplate(scope: Scope, { templateId }: TemplateRef): Promise<Template> {
  return toTemplate(await scope.get(TemplateRow, templateId))
}

/** Lists templates, newest first. */
export async function listTemplates(scope: Scope, { limit, offset }: ListTemplates): Promise<Page<Template>> {
  const [total, rows] = await Promise.all([
    scope.query(TemplateRow).resultSize(),
    scope
      .query(TemplateRow)
      .orderBy([
        { column: 'createdAt', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows.map(toTemplate), total }
}
