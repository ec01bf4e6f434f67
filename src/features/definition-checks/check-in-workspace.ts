import type { Compilation } from '../../engine/compile/compile-definition.ts'
import { problemAt, type Problem, type Location } from '../../engine/language/definition/problems.ts'
import type { Scope } from '../../scope/scope.ts'
import { findAiProvider } from '../ai-provider/queries.ts'
import { checkStepTemplates } from './check-step-templates.ts'
import { listSteps, type DefinitionPart, findValues } from '../workflows/stored-definition.ts'
import { checkDefinitionTask, joinProblems, toProblemList } from './check-definition.ts'
import { checkKeywords } from './check-keywords.ts'
import { checkReferences } from './check-references.ts'
import { Settings } from '../../engine/language/definition/settings.ts'
import { getField } from '../../platform/fields.ts'
import { parseInstant } from '../../platform/calendar/zoned-time.ts'
import { schedule } from '../../triggers/schedule.ts'
import { workflowTimezone } from '../automation/workflow-zone.ts'
import { findFile } from '../../message-content/content.ts'
import { type FileKind, findFileProblem } from '../../message-content/stored-file.ts'
import { loadMediaResources } from '../media/load-step-media.ts'

/**
 * Runs all checks of publishing: those of the definition itself and those against the workspace. Lists at most 100
 * errors and 100 warnings.
 */
export async function checkInWorkspace(
  scope: Scope,
  definition: unknown,
  workflowId: string | null,
): Promise<Omit<Compilation, 'triggers'>> {
  const { allowsLoopback } = scope
  const check = await scope.compute(checkDefinitionTask, { definition, allowsLoopback })
  const { triggers, errors, warnings, fieldWarnings, stepWarnings, references } = check
  const found = await checkReferences(scope, references)
  const templates = await checkStepTemplates(scope, definition)
  const files = await checkStepMedia(scope, definition)
  const allErrors = joinProblems(errors, toProblemList([...found.errors, ...templates, ...files]))
  const schedules = await checkSchedules(scope, triggers, definition)
  const workspaceWarnings = [
    ...(await checkAi(scope, definition)),
    ...(await checkKeywords(scope, triggers, { definition, workflowId })),
  ]
  return {
    compiled: allErrors.length > 0 ? null : check.compiled,
    errors: allErrors,
    warnings: joinProblems(
      warnings,
      toProblemList(found.warnings),
      fieldWarnings,
      toProblemList(schedules),
      stepWarnings,
      toProblemList(workspaceWarnings),
    ),
  }
}

/** Warns of `ai` steps in a workspace without an AI provider: they fail until there is one. */
async function checkAi(scope: Scope, definition: unknown): Promise<Problem[]> {
  const aiSteps = listSteps(definition).filter(({ fields }) => fields['type'] === 'ai')
  if (aiSteps.length === 0 || (await findAiProvider(scope))) return []
  const description = 'needs an AI provider, and the workspace has none: set one with PUT /api/ai-provider'
  return aiSteps.map(({ location }) => problemAt(location, 'type', 'no_ai_provider', description))
}

/** Warns of scheduled times in the past: they start no runs. */
async function checkSchedules(
  scope: Scope,
  triggers: Compilation['triggers'],
  definition: unknown,
): Promise<Problem[]> {
  if (!triggers.some((trigger) => trigger && schedule.is(trigger) && trigger.at !== undefined)) return []
  const settings = Settings.prefault({}).safeParse(getField(definition, 'settings')).data
  if (!settings) return []
  const timezone = await workflowTimezone(scope, settings.timezone)
  return triggers.flatMap((trigger, index) => {
    if (!trigger || !schedule.is(trigger) || trigger.at === undefined) return []
    const at = parseInstant(trigger.at, trigger.timezone ?? timezone)
    if (at === undefined || at > scope.now().getTime()) return []
    const location = { stepId: null, path: `triggers.${index}`, name: `Trigger ${index + 1}` }
    return [problemAt(location, 'at', 'past_schedule', 'is in the past and starts no runs: set a time in the future')]
  })
}

type Use = { location: Location; path: string; kind: FileKind; mediaId: string }

/** Checks that the stored files of a definition are in the workspace and can be sent as their kind of message. */
async function checkStepMedia(scope: Scope, definition: unknown): Promise<Problem[]> {
  const uses = listSteps(definition).flatMap((step) => [
    ...listUses(step, 'message'),
    ...listUses(step, 'invalidMessage'),
  ])
  const files = await loadMediaResources(
    scope,
    uses.map(({ mediaId }) => mediaId),
  )
  return uses.flatMap(({ location, path, kind, mediaId }) => {
    const file = files.find((one) => one.mediaId === mediaId)
    const problem = file && findFileProblem(kind, file)
    if (problem !== undefined) return [problemAt(location, path, 'media_not_sendable', problem)]
    if (file) return []
    const text = `${JSON.stringify(mediaId)} is not the ID of a file of this workspace. Upload it with POST /api/media`
    return [problemAt(location, path, 'unknown_media', text)]
  })
}

function listUses(step: DefinitionPart, path: string): Use[] {
  return findValues(step, path).flatMap(({ value }) => {
    const file = typeof value === 'object' ? findFile(value) : undefined
    if (!file) return []
    const { kind, mediaId } = file
    const field = kind === 'sticker' ? 'sticker' : 'media'
    return [{ location: step.location, path: `${path}.${field}.mediaId`, kind, mediaId: mediaId.toLowerCase() }]
  })
}
