import { LRUCache } from 'lru-cache'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope/scope.ts'
import { withMedia } from '../media/load-step-media.ts'
import { type SendableTemplate, toSendableTemplate } from '../../channels/templates/fill-template.ts'
import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { Template as TemplateRow } from '../../models/messaging.ts'
import { isUuid } from '../../platform/ids.ts'
import {
  listTemplateResources,
  matchesChoice,
  readTemplatePart,
  TEMPLATE_RESOURCES,
  TemplateMessage,
  type TemplateChoice,
  type TemplateResource,
} from '../../steps/messages/template-message.ts'

/** Adds what the steps of workflows refer to and need when they are executed: templates and stored files. */
export async function withResources(scope: Scope, workflows: PublishedWorkflow[]): Promise<PublishedWorkflow[]> {
  return withMedia(scope, await withTemplates(scope, workflows))
}

/** Choices by compiled definition, which never changes. */
const choices = new WeakMap<CompiledDefinition, TemplateChoice[]>()

/** Prepared templates by ID and time of their last change; null if they cannot be sent. */
const prepared = new LRUCache<string, { template: SendableTemplate | null }>({ max: 1000 })

/** Adds the templates that the steps of workflows refer to, in one statement, or none if there are none. */
async function withTemplates(scope: Scope, workflows: PublishedWorkflow[]): Promise<PublishedWorkflow[]> {
  const chosen = workflows.map((workflow) => ({ workflow, choices: listChoices(workflow.compiled) }))
  const resources = await loadTemplateResources(
    scope,
    chosen.flatMap((one) => one.choices),
  )
  return chosen.map(({ workflow, choices: own }) => {
    if (own.length === 0) return workflow
    const templates = resources.filter((resource) => own.some((choice) => matchesChoice(resource, choice)))
    return { ...workflow, resources: { [TEMPLATE_RESOURCES]: templates } }
  })
}

/** Lists the channels of the templates among the resources of a workflow, each once. */
export function listTemplateChannels(resources: PublishedWorkflow['resources']): string[] {
  return [...new Set(listTemplateResources(resources).map(({ channelId }) => channelId))]
}

/** Lists the templates that the steps of a definition refer to. */
function listChoices(compiled: CompiledDefinition): TemplateChoice[] {
  const known = choices.get(compiled)
  if (known) return known
  const list = compiled.steps.flatMap(({ config }) =>
    [config, config['ifWindowClosed'], readTemplatePart(config['message'])].flatMap((part) => readChoice(part)),
  )
  choices.set(compiled, list)
  return list
}

function readChoice(value: unknown): TemplateChoice[] {
  if (typeof value !== 'object' || value === null || !('template' in value)) return []
  const choice = TemplateMessage.shape.template.safeParse(value.template).data
  return choice ? [choice] : []
}

/** Loads the templates of the workspace that the choices name, on all of its channels. */
export async function loadTemplateResources(scope: Scope, list: TemplateChoice[]): Promise<TemplateResource[]> {
  if (list.length === 0) return []
  const ids = list.flatMap(({ templateId }) => (templateId !== undefined && isUuid(templateId) ? [templateId] : []))
  const named = list.flatMap(({ name, language }) => (name && language ? [{ name, language }] : []))
  const rows = await scope.query(TemplateRow).where((either) => {
    void either.whereIn('id', ids).orWhere((byName) => {
      void byName
        .whereIn(
          'name',
          named.map(({ name }) => name),
        )
        .whereIn(
          'language',
          named.map(({ language }) => language),
        )
    })
  })
  return rows.map((row) => {
    const { id, channelId, name, language, status } = row
    return { templateId: id, channelId, name, language, status, template: prepare(row) }
  })
}

function prepare(row: TemplateRow): SendableTemplate | null {
  const key = `${row.id}:${row.updatedAt.getTime()}`
  const known = prepared.get(key)
  if (known) return known.template
  const template = toSendableTemplate(row) ?? null
  prepared.set(key, { template })
  return template
}
