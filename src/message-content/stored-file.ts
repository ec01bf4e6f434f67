/** Kinds of messages that are a file. */
export type FileKind = 'image' | 'video' | 'audio' | 'document' | 'sticker'

/** Stored file of the workspace, as far as it decides how it can be sent. */
export type StoredFile = {
  mimeType: string
  bytes: number
  filename: string | null
  /** For a WebP file; null if that is unknown. */
  isAnimated: boolean | null
}

const KB = 1024
const MB = 1024 * KB

const STATIC_STICKER_BYTES_MAX = 100 * KB

type Rule = { types: string[]; names: string; bytesMax: number; size: string }

/** Types and sizes that the Cloud API takes. It refuses a sticker of more than 100 KB that is not animated. */
const RULES: Record<FileKind, Rule> = {
  image: { types: ['image/jpeg', 'image/png'], names: 'JPEG or PNG', bytesMax: 5 * MB, size: '5 MB' },
  video: { types: ['video/mp4', 'video/3gpp'], names: 'MP4 or 3GP', bytesMax: 16 * MB, size: '16 MB' },
  audio: {
    types: ['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg'],
    names: 'AAC, AMR, MP3, M4A or OGG',
    bytesMax: 16 * MB,
    size: '16 MB',
  },
  document: {
    types: [
      'application/pdf',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'application/vnd.openxmlformats-officedocument.presentationml.presentation',
      'text/plain',
    ],
    names: 'PDF, DOCX, XLSX, PPTX or plain text',
    bytesMax: 100 * MB,
    size: '100 MB',
  },
  sticker: {
    types: ['image/webp'],
    names: 'WebP',
    bytesMax: 500 * KB,
    size: '500 KB, and 100 KB unless it is animated',
  },
}

/** Finds what keeps a file from being sent as a message of a kind, as a sentence with the limit. */
export function findFileProblem(
  kind: FileKind,
  { mimeType, bytes, isAnimated }: Omit<StoredFile, 'filename'>,
): string | undefined {
  const { types, names, size, ...rule } = RULES[kind]
  const bytesMax = kind === 'sticker' && isAnimated === false ? STATIC_STICKER_BYTES_MAX : rule.bytesMax
  if (!types.includes(mimeType)) return `The file is ${mimeType}, and a message of type ${kind} takes ${names}`
  if (bytes <= bytesMax) return undefined
  return `The file has ${bytes} bytes, and a message of type ${kind} takes at most ${size}`
}

/** Adds the name of a stored document unless the message has its own: without one, WhatsApp shows it as untitled. */
export function nameDocument<Media extends { type: string; filename?: string | undefined }>(
  media: Media,
  { filename }: StoredFile,
): Media {
  return media.type === 'document' && filename !== null ? { ...media, filename: media.filename ?? filename } : media
}
