import { Template as TemplateRow } from '../../models/messaging.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import type { TemplateRef, TemplateUses } from './schema.ts'

const USES_MAX = 100

/** Lists the workflows that are not archived and the broadcasts that use a template, at most 100 each. */
export async function listTemplateUses(scope: Scope, { templateId }: TemplateRef): Promise<TemplateUses> {
  const template = await scope.get(TemplateRow, templateId)
  const [workflows, broadcasts] = await Promise.all([listWorkflows(scope, template), listBroadcasts(scope, template)])
  return { workflows, broadcasts }
}

/** A definition refers to a template by its ID, or by its name and language, in an object named `template`. */
const REFERS = sqlFragment`'$.**.template ? (@.templateId == $templateId || (@.name == $name && @.language == $language))'`

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
