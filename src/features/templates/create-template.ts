import { Channel, Template as TemplateRow } from '../../models/messaging.ts'
import { ConflictError } from '../../platform/errors.ts'
import { findUniqueKey } from '../../platform/database/unique-name.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { getTemplate } from './queries.ts'
import type { CreateTemplate, Template } from './schema.ts'
import { contentColumns, toComponents } from './template-columns.ts'

/**
 * Creates a template. The sandbox needs no approval by a provider: there it is approved at once.
 * @throws ConflictError `template_exists` when the channel has a template of this name in this language; `too_many_templates`
 */
export function createTemplate(
  scope: Scope,
  { id: templateId = newId(), ...input }: CreateTemplate & { id?: string },
): Promise<Template> {
  const { name, language, category } = input
  return withUniqueName(() =>
    scope.transaction(async (tx) => {
      await assertRowLimit(tx, 'templates')
      const channel = await tx.lock(Channel, input.channelId)
      const now = tx.now()
      await tx.query(TemplateRow).insert({
        id: templateId,
        channelId: channel.id,
        name,
        language,
        category,
        status: channel.kind === 'sandbox' ? 'approved' : 'draft',
        ...contentColumns(toComponents(input)),
        createdAt: now,
        updatedAt: now,
      })
      await tx.record({ type: 'template.created', data: { templateId } })
      return getTemplate(tx, { templateId })
    }),
  )
}

/** @throws ConflictError `template_exists` when the channel has a template of this name in this language */
export async function withUniqueName<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!findUniqueKey(error)?.startsWith('templates_')) throw error
    throw new ConflictError(
      'template_exists',
      'The channel already has a template of this name in this language. Choose another name',
    )
  }
}
