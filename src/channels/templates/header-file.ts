import type { FileKind, StoredFile } from '../../message-content/stored-file.ts'
import type { SendableTemplate } from './fill-template.ts'
import { HEADER_FILENAME, HEADER_MEDIA } from './variables.ts'

const KINDS: Partial<Record<NonNullable<SendableTemplate['headerFormat']>, FileKind>> = {
  IMAGE: 'image',
  VIDEO: 'video',
  DOCUMENT: 'document',
}

type Params = Readonly<Record<string, string>>

/** Finds the stored file that the parameters put into the header; undefined if they have none. */
export function findHeaderFile(
  { headerFormat }: Pick<SendableTemplate, 'headerFormat'>,
  params: Params,
): { kind: FileKind; mediaId: string } | undefined {
  const kind = headerFormat === null ? undefined : KINDS[headerFormat]
  const mediaId = params[HEADER_MEDIA]?.trim()
  return kind && mediaId ? { kind, mediaId } : undefined
}

/** Adds the name of a stored document unless the parameters have one: without it, WhatsApp shows it as untitled. */
export function nameHeaderFile(
  { headerFormat }: Pick<SendableTemplate, 'headerFormat'>,
  params: Params,
  { filename }: StoredFile,
): Params {
  if (headerFormat !== 'DOCUMENT' || filename === null || params[HEADER_FILENAME]) return params
  return { ...params, [HEADER_FILENAME]: filename }
}
