import { Broadcast } from '../../models/messaging/broadcast.ts'
import { Template as TemplateRow } from '../../models/messaging/template.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import type { TemplateRef } from './schema.ts'

/**
 * Deletes a template that no broadcast uses, so that what broadcasts sent stays readable.
 * @throws ConflictError `template_in_use`
 */
export function deleteTemplate(scope: Scope, { templateId }: TemplateRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(TemplateRow, templateId)
    const uses = await tx.query(Broadcast).where({ templateId }).resultSize()
    if (uses > 0) {
      throw new ConflictError('template_in_use', 'Broadcasts use this template. Delete them first')
    }
    await tx.query(TemplateRow).delete().where('id', templateId)
    await tx.record({ type: 'template.deleted', data: { templateId } })
    return {}
  })
}
