import { Template as TemplateRow } from '../../models/messaging.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { listTemplateUses } from './list-uses.ts'
import type { TemplateRef } from './schema.ts'
import { loadTemplateProvider } from './template-provider.ts'

const USERS_NAMED_MAX = 10

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
