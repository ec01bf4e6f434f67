import { UniqueViolationError } from 'objection'
import { Channel } from '../../models/messaging/channel.ts'
import { Template as TemplateRow } from '../../models/messaging/template.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { CreateTemplate, Template } from './schema.ts'

/**
 * Creates a template. The sandbox needs no approval by a provider: there it is approved at once.
 * @throws ConflictError `template_exists` when the channel has a template of this name in this language
 */
export async function createTemplate(scope: Scope, input: CreateTemplate): Promise<Template> {
  try {
    return await scope.transaction(async (tx) => {
      const channel = await tx.lock(Channel, input.channelId)
      const now = tx.now()
      const row = {
        ...input,
        id: newId(),
        channelId: channel.id,
        status: channel.kind === 'sandbox' ? ('approved' as const) : ('draft' as const),
        createdAt: now,
        updatedAt: now,
      }
      await tx.query(TemplateRow).insert(row)
      await tx.record({ type: 'template.created', data: { templateId: row.id } })
      return row
    })
  } catch (error) {
    if (!(error instanceof UniqueViolationError) || error.table !== 'templates') throw error
    throw new ConflictError(
      'template_exists',
      'The channel already has a template of this name in this language. Choose another name',
    )
  }
}
