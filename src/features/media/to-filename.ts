import { extname } from 'node:path'

const FILENAME_MAX = 240

/** Extensions under which a file of a type is opened as what it is, the usual one first. */
const EXTENSIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['image/jpeg', ['jpg', 'jpeg']],
  ['image/png', ['png']],
  ['image/webp', ['webp']],
  ['video/mp4', ['mp4', 'm4v']],
  ['video/3gpp', ['3gp', '3gpp']],
  ['audio/aac', ['aac']],
  ['audio/amr', ['amr']],
  ['audio/mpeg', ['mp3', 'mpga']],
  ['audio/mp4', ['m4a', 'mp4']],
  ['audio/ogg', ['ogg', 'oga', 'opus']],
  ['application/pdf', ['pdf']],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', ['docx']],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', ['xlsx']],
  ['application/vnd.openxmlformats-officedocument.presentationml.presentation', ['pptx']],
  ['text/plain', ['txt', 'csv', 'tsv', 'md', 'log', 'json', 'yaml', 'yml']],
])

/**
 * Returns the name under which a file is saved: without folders and characters that a header or the database cannot
 * carry or that reverse the text, and with an extension of its type, as a text named `.html` is executed when it is opened.
 */
export function toFilename(text: string | null, mimeType: string): string | null {
  const base = text?.split(/[/\\]/).at(-1) ?? ''
  const clean = base
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Bidi_Control}"]/gu, '')
    .trim()
  if (clean === '') return null
  const name = [...clean].slice(0, FILENAME_MAX).join('')
  const extensions = EXTENSIONS.get(mimeType)
  const isOfType = !extensions || extensions.includes(extname(name).slice(1).toLowerCase())
  return isOfType ? name : `${name}.${extensions[0]}`
}
