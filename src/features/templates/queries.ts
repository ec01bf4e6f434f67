import { Template as TemplateRow } from '../../models/messaging/template.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import type { ListTemplates, Template, TemplateRef } from './schema.ts'

/** @throws NotFoundError */
export function getTemplate(scope: Scope, { templateId }: TemplateRef): Promise<Template> {
  return scope.get(TemplateRow, templateId)
}

/** Lists templates, newest first. */
export async function listTemplates(scope: Scope, { limit, offset }: ListTemplates): Promise<Page<Template>> {
  const [total, items] = await Promise.all([
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
  return { items, total }
}
