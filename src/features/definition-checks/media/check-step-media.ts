import { type Location, problemAt, type Problem } from '../../../engine/language/definition/problems.ts'
import { findFile } from '../../../message-content/content.ts'
import { type FileKind, findFileProblem } from '../../../message-content/stored-file.ts'
import type { Scope } from '../../../scope.ts'
import { loadMediaResources } from '../../media/load-step-media.ts'
import { type DefinitionPart, findValues, listSteps } from '../../workflows/stored-definition.ts'

type Use = { location: Location; path: string; kind: FileKind; mediaId: string }

/** Checks that the stored files of a definition are in the workspace and can be sent as their kind of message. */
export async function checkStepMedia(scope: Scope, definition: unknown): Promise<Problem[]> {
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
