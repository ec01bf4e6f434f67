import { Broadcast } from '../../models/messaging/broadcast.ts'
import { Template as TemplateRow } from '../../models/messaging/template.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import type { TemplateRef } from './schema.ts'

/** What a broadcast says, or said, stays readable. */
export function deleteTemplate(scope: Scope, { id }: TemplateRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    await tx.lock(TemplateRow, id)
    const used = await tx.query(Broadcast).where('templateId', id).resultSize()
    if (used > 0) {
      throw new ConflictError('template_in_use', 'Broadcasts use this template. Delete them, or leave the template')
    }
    await tx.query(TemplateRow).delete().where('id', id)
    await tx.record({ type: 'template.deleted', data: { templateId: id } })
    return {}
  })
}
