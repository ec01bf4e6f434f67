import { listVariables, readTemplate } from '../../channels/templates/variables.ts'
import { Template as TemplateRow } from '../../models/messaging.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import type { ListTemplates, Template, TemplateRef } from './schema.ts'

export function toTemplate(row: TemplateRow): Template {
  const template = readTemplate(row.components)
  return { ...row, variables: template ? listVariables(template) : [] }
}

/** @throws NotFoundError */
export async function getTemplate(scope: Scope, { templateId }: TemplateRef): Promise<Template> {
  return toTemplate(await scope.get(TemplateRow, templateId))
}

/** Lists templates that match the filters, newest first. */
export async function listTemplates(
  scope: Scope,
  { status, category, channelId, name, ...input }: ListTemplates,
): Promise<Page<Template>> {
  if (channelId !== undefined && !isUuid(channelId)) return EMPTY_PAGE
  const page = await readPage<TemplateRow>(
    scope,
    {
      name: 'listTemplates',
      from: sqlFragment`templates`,
      id: sqlFragment`t.id`,
      conditions: [
        ...(status === undefined ? [] : [sqlFragment`t.status = ${status}`]),
        ...(category === undefined ? [] : [sqlFragment`t.category = ${category}`]),
        ...(channelId === undefined ? [] : [sqlFragment`t.channel_id = ${channelId}`]),
        ...(name === undefined ? [] : [sqlFragment`position(${name.toLowerCase()}::text in t.name) > 0`]),
      ],
      order: NEWEST_FIRST,
      item: { table: sqlFragment`templates`, columns: () => sqlFragment`templates.*` },
    },
    input,
  )
  return { ...page, items: page.items.map(toTemplate) }
}
