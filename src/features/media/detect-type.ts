import { open } from 'node:fs/promises'

/** Types that may be uploaded: those that WhatsApp takes. */
const ALLOWED = new Set([
  'image/jpeg',
  'image/png',
  'image/webp',
  'video/mp4',
  'video/3gpp',
  'audio/aac',
  'audio/amr',
  'audio/mpeg',
  'audio/mp4',
  'audio/ogg',
  'application/pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'text/plain',
])
const ALIASES: Record<string, string> = { 'audio/x-m4a': 'audio/mp4', 'audio/ogg; codecs=opus': 'audio/ogg' }

const HEAD_BYTES = 4096

/** Detects the type of a file from its content, as names and headers may be wrong; undefined for unknown content. */
export async function detectType(path: string): Promise<string | undefined> {
  const { fileTypeFromFile } = await import('file-type')
  const detected = await fileTypeFromFile(path).catch(() => undefined)
  if (detected) return Object.hasOwn(ALIASES, detected.mime) ? ALIASES[detected.mime] : detected.mime
  return (await isText(path)) ? 'text/plain' : undefined
}

export function isAllowedType(type: string | undefined): type is string {
  return type !== undefined && ALLOWED.has(type)
}

/** Returns true if the file starts with readable UTF-8 that no browser takes for markup. */
async function isText(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    const text = new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, bytesRead), { stream: true })
    const control = text.replaceAll(/[\t\n\v\f\r]/g, '').search(/\p{Cc}/u)
    return bytesRead > 0 && control < 0 && !/^\s*</.test(text)
  } catch {
    return false
  } finally {
    await file.close()
  }
}

/** Position of the flags in an extended WebP file, and the flag of an animation. */
const WEBP_FLAGS = 20
const WEBP_ANIMATION = 0x02

/** Returns true if a WebP file has an animation: its extended header says so. */
export async function isAnimatedWebp(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(WEBP_FLAGS + 1), 0, WEBP_FLAGS + 1, 0)
    const flags = bytesRead > WEBP_FLAGS && buffer.toString('latin1', 12, 16) === 'VP8X' ? buffer[WEBP_FLAGS] : 0
    return ((flags ?? 0) & WEBP_ANIMATION) !== 0
  } finally {
    await file.close()
  }
}
