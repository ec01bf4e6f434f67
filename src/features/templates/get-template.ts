import { Template as TemplateRow } from '../../models/messaging/template.ts'
import type { Scope } from '../../scope.ts'
import type { Template, TemplateRef } from './schema.ts'

export function getTemplate(scope: Scope, { id }: TemplateRef): Promise<Template> {
  return scope.get(TemplateRow, id)
}
