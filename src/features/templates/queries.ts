import { listVariables, readTemplate } from '../../channels/templates/variables.ts'
import { Template as TemplateRow } from '../../models/messaging.ts'
import type { TenantModel } from '../../models/tenant-model.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import type { ListTemplates, Template, TemplateRef, TemplateUses } from './schema.ts'

const USES_MAX = 100

/** A definition refers to a template by its ID, or by its name and language, in an object named `template`. */
const REFERS = sqlFragment`'$.**.template ? (@.templateId == $templateId || (@.name == $name && @.language == $language))'`

export function toTemplate(row: Omit<TemplateRow, keyof TenantModel>): Template {
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

/** Lists the workflows that are not archived and the broadcasts that use a template, at most 100 each. */
export async function listTemplateUses(scope: Scope, { templateId }: TemplateRef): Promise<TemplateUses> {
  const template = await scope.get(TemplateRow, templateId)
  const [workflows, broadcasts] = await Promise.all([listWorkflows(scope, template), listBroadcasts(scope, template)])
  return { workflows, broadcasts }
}

function listWorkflows(scope: Scope, template: TemplateRow): Promise<TemplateUses['workflows']> {
  const { id: templateId, name, language } = template
  const reference = JSON.stringify({ templateId, name, language })
  return scope.sql<TemplateUses['workflows'][number]>('listWorkflows')`
    select * from (
       select w.id, w.name, w.status, jsonb_path_exists(w.draft, ${REFERS}, ${reference}::jsonb) as in_draft,
         coalesce(jsonb_path_exists(v.definition, ${REFERS}, ${reference}::jsonb), false) as in_published
       from workflows w
       left join workflow_versions v on v.tenant_id = ${scope.tenantId} and v.workflow_id = w.id and v.version = w.version
       where w.tenant_id = ${scope.tenantId} and w.status <> 'archived') as refers
     where in_draft or in_published order by name, id limit ${USES_MAX}`
}

function listBroadcasts(scope: Scope, { id }: TemplateRow): Promise<TemplateUses['broadcasts']> {
  return scope.sql<TemplateUses['broadcasts'][number]>('listBroadcasts')`
    select id, name, status from broadcasts where tenant_id = ${scope.tenantId} and template_id = ${id}
     order by created_at desc, id desc limit ${USES_MAX}`
}
