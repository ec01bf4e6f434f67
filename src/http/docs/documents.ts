import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { DOCS_PATH } from '../paths.ts'
import type { RenderedDocument } from './render-markdown.ts'

/** A document of the folder `docs`. `file` is its path in the folder, such as `architecture/jobs.md`. */
export type ProjectDocument = { file: string; path: string; title: string; text: string }

export type ProjectDocuments = {
  documents: ProjectDocument[]
  /** The names of the pictures in `images`. */
  images: string[]
}

/** The same folder from source and in a compiled build, which has a copy. */
const FOLDER = new URL('../../../docs/', import.meta.url)
const IMAGES = 'images'
const IMAGE_FILE = /^[\w-]+\.(?:svg|png)$/

/** Documents whose pages are built from the code. */
const BUILT_PAGES = new Set(['errors.md'])

/** Reads the documents. A program that was compiled without them has none. */
export async function readDocuments(): Promise<ProjectDocuments> {
  if (!existsSync(FOLDER)) return { documents: [], images: [] }
  const names = await readdir(FOLDER, { recursive: true })
  const files = names
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md') && !BUILT_PAGES.has(name))
  const documents = files.toSorted().map(async (file) => {
    const text = await readFile(new URL(file, FOLDER), 'utf8')
    return { file, path: toPath(file), title: /^# (.*)$/m.exec(text)?.[1] ?? file, text }
  })
  const images = existsSync(new URL(IMAGES, FOLDER)) ? await readdir(new URL(IMAGES, FOLDER)) : []
  return { documents: await Promise.all(documents), images: images.filter((name) => IMAGE_FILE.test(name)) }
}

export function toImagePath(name: string): string {
  return `${DOCS_PATH}/${IMAGES}/${name}`
}

export function readImage(name: string): Promise<Buffer> {
  return readFile(new URL(`${IMAGES}/${name}`, FOLDER))
}

/** Returns the address of a document: a folder has that of its README.md. */
function toPath(file: string): string {
  return `${DOCS_PATH}/${file.replace(/(?:\/README)?\.md$/, '')}`
}

/** Renders a document with the addresses that its links have on the site. */
export async function renderDocument(document: ProjectDocument, known: ReadonlySet<string>): Promise<RenderedDocument> {
  const { renderMarkdown } = await import('./render-markdown.ts')
  return renderMarkdown(document.text, (target) => resolveLink(document, target, known))
}

/** Addresses of other servers must be http or https. Files that are no pages of the site have no address. */
function resolveLink({ file }: ProjectDocument, target: string, known: ReadonlySet<string>): string | undefined {
  if (/^https?:\/\//.test(target) || target.startsWith('#')) return target
  const [name = '', anchor] = target.split('#')
  const joined = posix.join(posix.dirname(file), name).replace(/\/$/, '')
  const path = joined.startsWith(`${IMAGES}/`) ? `${DOCS_PATH}/${joined}` : toPath(joined)
  if (!known.has(path)) return undefined
  return anchor === undefined ? path : `${path}#${anchor}`
}
