import { Channel, Template as TemplateRow } from '../../models/messaging.ts'
import { findUniqueKey } from '../../platform/database/unique-name.ts'
import { definedFields, listChanged } from '../../platform/fields.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { getTemplate, listTemplateUses, toTemplate } from './queries.ts'
import type { CreateTemplate, Template, TemplateRef, UpdateTemplate } from './schema.ts'
import { isSubmitting } from './submit-template.ts'
import { contentColumns, toComponents } from './template-columns.ts'
import { loadTemplateProvider } from '../channels/load-channel.ts'

const USERS_NAMED_MAX = 10

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

/**
 * Changes a draft or a rejected template, which becomes a draft again; those of the sandbox stay approved.
 * @throws ConflictError `template_not_editable`, `template_exists`, `template_submission_in_progress`
 */
export function updateTemplate(scope: Scope, input: UpdateTemplate): Promise<Template> {
  const { templateId, name, language, category, body, components } = input
  return withUniqueName(() =>
    scope.transaction(async (tx) => {
      const template = await tx.lock(TemplateRow, templateId)
      const { kind } = await tx.get(Channel, template.channelId)
      assertEditable(template, kind, tx.now())
      if (template.providerTemplateId !== null && (name ?? template.name) !== template.name) throw isKnownError('name')
      if (template.providerTemplateId !== null && (language ?? template.language) !== template.language) {
        throw isKnownError('language')
      }
      const content = body ?? components
      const changes = {
        ...definedFields({ name, language, category }),
        ...(content === undefined ? {} : contentColumns(toComponents(input))),
        status: kind === 'sandbox' ? ('approved' as const) : ('draft' as const),
      }
      // A text replaces components that it does not name, and a rejected template becomes a draft.
      tx.audit?.compareWith(template, { isChanged: listChanged(template, changes).length > 0 })
      await tx
        .query(TemplateRow)
        .findOne('id', templateId)
        .patch({ ...changes, submittedAt: null, updatedAt: tx.now() })
      const changed = listChanged(toTemplate(template), toTemplate({ ...template, ...changes, submittedAt: null }))
      if (changed.length > 0) await tx.record({ type: 'template.updated', data: { templateId, changed } })
      return getTemplate(tx, { templateId })
    }),
  )
}

/**
 * Deletes a template that nothing uses, first at the provider and then here. If the process ends in between, calling it
 * again deletes the rest.
 * @throws ConflictError `template_in_use`; BadGatewayError `provider_error`
 */
export async function deleteTemplate(scope: Scope, { templateId }: TemplateRef): Promise<Record<string, never>> {
  const { channelId, name, status, providerTemplateId } = await scope.get(TemplateRow, templateId)
  await assertUnused(scope, templateId)
  if (providerTemplateId !== null && status !== 'deleted') {
    const provider = await loadTemplateProvider(scope, channelId)
    await provider?.remove({ providerTemplateId, name })
  }
  return scope.transaction(async (tx) => {
    await tx.lock(TemplateRow, templateId)
    await assertUnused(tx, templateId)
    await tx.query(TemplateRow).delete().where('id', templateId)
    await tx.record({ type: 'template.deleted', data: { templateId } })
    return {}
  })
}

/** @throws ConflictError `template_exists` when the channel has a template of this name in this language */
async function withUniqueName<T>(work: () => Promise<T>): Promise<T> {
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

function assertEditable(template: TemplateRow, kind: Channel['kind'], now: Date): void {
  if (isSubmitting(template, now)) {
    throw new ConflictError('template_submission_in_progress', 'The template is being submitted. Try again in a minute')
  }
  if (kind === 'sandbox' || template.status === 'draft' || template.status === 'rejected') return
  throw new ConflictError(
    'template_not_editable',
    `The template is ${template.status}, and only drafts and rejected templates can be changed. Create a template of another name`,
  )
}

function isKnownError(field: 'name' | 'language'): ConflictError {
  return new ConflictError(
    'template_not_editable',
    `The provider knows the template by its name and language, so its ${field} cannot be changed. Create a new template`,
  )
}

async function assertUnused(scope: Scope, templateId: string): Promise<void> {
  const { workflows, broadcasts } = await listTemplateUses(scope, { templateId })
  const users = [...workflows, ...broadcasts]
  if (users.length === 0) return
  const names = users.slice(0, USERS_NAMED_MAX).map(({ name }) => `"${name}"`)
  const others = users.length > names.length ? ' and others' : ''
  throw new ConflictError(
    'template_in_use',
    `The template is used by ${names.join(', ')}${others}. Choose another template in these workflows and publish them, and delete these broadcasts first`,
    { workflows, broadcasts },
  )
}
