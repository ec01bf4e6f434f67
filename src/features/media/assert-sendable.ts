import { findFileProblem, type FileKind, type StoredFile } from '../../message-content/stored-file.ts'
import { Media as MediaRow } from '../../models/messaging.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'

/**
 * Checks that a file is in the workspace and can be sent as a message of a kind.
 * @throws NotFoundError
 * @throws UnprocessableError `media_not_sendable`
 */
export async function assertSendable(
  scope: Scope,
  { kind, mediaId }: { kind: FileKind; mediaId: string },
): Promise<StoredFile> {
  const { mimeType, bytes, filename, isAnimated } = await scope.get(MediaRow, mediaId)
  const file = { mimeType, bytes: Number(bytes), filename, isAnimated }
  const problem = findFileProblem(kind, file)
  if (problem !== undefined) throw new UnprocessableError('media_not_sendable', problem)
  return file
}
