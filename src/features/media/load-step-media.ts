import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import { findFile } from '../../message-content/content.ts'
import { Media as MediaRow } from '../../models/messaging.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { readHeaderMedia, readTemplateMessage, readTemplatePart } from '../../steps/messages/template-message.ts'
import { MEDIA_RESOURCES, type MediaResource } from '../../steps/messages/media.ts'

/** IDs of stored files by compiled definition, which never changes. */
const mediaIds = new WeakMap<CompiledDefinition, string[]>()

/** Adds the stored files that the steps of workflows refer to, in one statement, or none if there are none. */
export async function withMedia(scope: Scope, workflows: PublishedWorkflow[]): Promise<PublishedWorkflow[]> {
  const files = await loadMediaResources(
    scope,
    workflows.flatMap(({ compiled }) => listMediaIds(compiled)),
  )
  return workflows.map((workflow) => {
    const ids = listMediaIds(workflow.compiled)
    if (ids.length === 0) return workflow
    const media = files.filter(({ mediaId }) => ids.includes(mediaId))
    return { ...workflow, resources: { ...workflow.resources, [MEDIA_RESOURCES]: media } }
  })
}

/** Lists the stored files that the steps of a definition send. IDs are lower case in the database. */
function listMediaIds(compiled: CompiledDefinition): string[] {
  const known = mediaIds.get(compiled)
  if (known) return known
  const list = compiled.steps.flatMap(({ config }) => [
    ...[config['message'], config['invalidMessage']].flatMap((message) => {
      const file = typeof message === 'object' ? findFile(message) : undefined
      return file ? [file.mediaId.toLowerCase()] : []
    }),
    ...[readTemplateMessage(config), readTemplateMessage(config['ifWindowClosed']), readTemplatePart(config['message'])]
      .flatMap((message) => (message && readHeaderMedia(message)) ?? [])
      .map((id) => id.toLowerCase()),
  ])
  mediaIds.set(compiled, list)
  return list
}

/** Loads those of the files that the workspace has. */
export async function loadMediaResources(scope: Scope, ids: string[]): Promise<MediaResource[]> {
  if (ids.length === 0) return []
  const rows = await scope.query(MediaRow).whereIn('id', ids.filter(isUuid))
  return rows.map(({ id, mimeType, bytes, filename, isAnimated }) => ({
    mediaId: id,
    mimeType,
    bytes: Number(bytes),
    filename,
    isAnimated,
  }))
}
