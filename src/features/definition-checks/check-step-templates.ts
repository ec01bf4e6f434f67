import { fillComponents, type SendableTemplate } from '../../channels/templates/fill-template.ts'
import { findHeaderFile } from '../../channels/templates/header-file.ts'
import { HEADER_MEDIA } from '../../channels/templates/variables.ts'
import { problemAt, type Location, type Problem } from '../../engine/language/definition/problems.ts'
import { hasPlaceholder } from '../../engine/language/template.ts'
import { findFileProblem } from '../../message-content/stored-file.ts'
import type { Scope } from '../../scope/scope.ts'
import {
  matchesChoice,
  readHeaderMedia,
  readTemplatePart,
  TemplateMessage,
  type TemplateChoice,
  type TemplateResource,
} from '../../steps/messages/template-message.ts'
import type { MediaResource } from '../../steps/messages/media.ts'
import { loadMediaResources } from '../media/load-step-media.ts'
import { type DefinitionPart, findValues, listSteps, listTriggers } from '../workflows/stored-definition.ts'
import { loadTemplateResources } from '../templates/load-resources.ts'

/** A message made from a template, and where the definition has it. */
type Use = { location: Location; at: string; paramsAt: string; message: TemplateMessage }

/**
 * Checks that the templates of a definition exist, are approved and fit their parameters, on the channels that the
 * triggers name, or else on any channel.
 */
export async function checkStepTemplates(scope: Scope, definition: unknown): Promise<Problem[]> {
  const uses = listSteps(definition).flatMap((step) => [
    ...readUse(step, ''),
    ...readUse(step, 'ifWindowClosed'),
    ...readPart(step),
  ])
  if (uses.length === 0) return []
  const resources = await loadTemplateResources(
    scope,
    uses.map(({ message }) => message.template),
  )
  const channelIds = listChannelIds(definition)
  const files = await loadMediaResources(
    scope,
    uses.flatMap(({ message }) => readHeaderMedia(message) ?? []),
  )
  return uses.flatMap((use) => checkUse(use, { resources, channelIds, files }))
}

function readUse(step: DefinitionPart, path: string): Use[] {
  const part = path === '' ? step.fields : findValues(step, path)[0]?.value
  if (typeof part !== 'object' || part === null || !('template' in part)) return []
  const input = { template: part.template, params: 'params' in part ? part.params : {} }
  const message = TemplateMessage.safeParse(input).data
  const prefix = path === '' ? '' : `${path}.`
  return message ? [{ location: step.location, at: `${prefix}template`, paramsAt: `${prefix}params`, message }] : []
}

function readPart({ fields, location }: DefinitionPart): Use[] {
  const message = readTemplatePart(fields['message'])
  return message ? [{ location, at: 'message.template', paramsAt: 'message.template.params', message }] : []
}

function listChannelIds(definition: unknown): string[] {
  return listTriggers(definition).flatMap(({ fields: { channelId } }) =>
    typeof channelId === 'string' ? [channelId.toLowerCase()] : [],
  )
}

function checkUse(
  { location, at, paramsAt, message: { template: choice, params } }: Use,
  { resources, channelIds, files }: { resources: TemplateResource[]; channelIds: string[]; files: MediaResource[] },
): Problem[] {
  const existing = resources.filter((resource) => matchesChoice(resource, choice))
  if (existing.length === 0) {
    return [
      problemAt(location, at, 'unknown_template', `${describeChoice(choice)} is not a template of this workspace`),
    ]
  }
  const onChannels = existing.filter(({ channelId }) => channelIds.length === 0 || channelIds.includes(channelId))
  if (onChannels.length === 0) {
    const text = `${describeChoice(choice)} is a template of another channel than those of the triggers`
    return [problemAt(location, at, 'template_of_other_channel', text)]
  }
  const approved = onChannels.filter(({ status }) => status === 'approved')
  const [first] = onChannels
  if (approved.length === 0) {
    const text = `${describeChoice(choice)} is ${first?.status ?? 'missing'}, and only an approved template can be sent: submit it with POST /api/templates/{templateId}/submit`
    return [problemAt(location, at, 'template_not_approved', text)]
  }
  const sendable = approved.flatMap(({ template }) => template ?? [])
  if (sendable.length === 0) {
    const text = `${describeChoice(choice)} has components that cannot be sent, such as a carousel`
    return [problemAt(location, at, 'template_not_supported', text)]
  }
  const problems = sendable.map((template) => [
    ...checkParams(template, params, { location, path: paramsAt }),
    ...checkHeaderFile(template, params, { location, path: paramsAt, files }),
  ])
  return problems.find((list) => list.length > 0) ?? []
}

function describeChoice({ templateId, name, language }: TemplateChoice): string {
  return templateId === undefined
    ? `${JSON.stringify(name)} in the language ${JSON.stringify(language)}`
    : JSON.stringify(templateId)
}

/** Checks the names of parameters, and their values unless placeholders decide them later. */
function checkParams(
  template: SendableTemplate,
  params: Record<string, string>,
  { location, path }: { location: Location; path: string },
): Problem[] {
  const filled = fillComponents(template, params)
  if (!('problems' in filled)) return []
  return filled.problems
    .filter(({ name }) => !hasPlaceholder(params[name] ?? '') && !(name === 'body' && isDynamic(params)))
    .map(({ name, message }) => {
      const known = template.variables.map((variable) => variable.name).join(', ')
      const hint = known === '' ? 'the template has no variables' : `the variables of the template are ${known}`
      return problemAt(location, `${path}.${name}`, 'template_params_invalid', `${message}: ${hint}`)
    })
}

/** Checks the stored file of the header, which is loaded before the step is executed: its ID has no placeholders. */
function checkHeaderFile(
  template: SendableTemplate,
  params: Record<string, string>,
  { location, path, files }: { location: Location; path: string; files: MediaResource[] },
): Problem[] {
  const file = findHeaderFile(template, params)
  if (!file) return []
  const stored = files.find(({ mediaId }) => mediaId === file.mediaId.toLowerCase())
  const problem = stored && findFileProblem(file.kind, stored)
  if (stored && problem === undefined) return []
  const text = `${JSON.stringify(file.mediaId)} is not the ID of a file of this workspace. Upload it with POST /api/media`
  const code = stored ? 'media_not_sendable' : 'unknown_media'
  return [problemAt(location, `${path}.${HEADER_MEDIA}`, code, problem ?? text)]
}

function isDynamic(params: Record<string, string>): boolean {
  return Object.values(params).some(hasPlaceholder)
}
