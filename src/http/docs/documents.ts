import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { DOCS_PATH } from '../paths.ts'
import type { RenderedDocument } from './render-markdown.ts'

/** A document of the folder `docs`. `file` is its path in the folder, such as `architecture/jobs.md`. */
export type ProjectDocument = { file: string; path: string; title: string; text: string }

export type ProjectDocuments = {
  documents: ProjectDocument[]
  /** The pictures in `images`, with their paths on the site. */
  images: { path: string; file: URL }[]
}

/** The same folder from source and in a compiled build, which has a copy. */
const FOLDER = new URL('../../../docs/', import.meta.url)
const IMAGE_FILE = /^images\/[\w-]+\.(?:svg|png)$/

/** Documents whose pages are built from the code. */
const BUILT_PAGES = new Set(['errors.md'])

/** Reads the documents. A program that was compiled without them has none. */
export async function readDocuments(folder = FOLDER): Promise<ProjectDocuments> {
  if (!existsSync(folder)) return { documents: [], images: [] }
  const names = (await readdir(folder, { recursive: true })).map((name) => name.replaceAll('\\', '/')).toSorted()
  const files = names.filter((name) => name.endsWith('.md') && !BUILT_PAGES.has(name))
  const documents = files.map(async (file) => {
    const text = await readFile(new URL(file, folder), 'utf8')
    return { file, path: toPath(file), title: /^# (.*)$/m.exec(text)?.[1] ?? file, text }
  })
  const images = names.filter((name) => IMAGE_FILE.test(name))
  return {
    documents: await Promise.all(documents),
    images: images.map((name) => ({ path: `${DOCS_PATH}/${name}`, file: new URL(name, folder) })),
  }
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
  const path = IMAGE_FILE.test(joined) ? `${DOCS_PATH}/${joined}` : toPath(joined)
  if (!known.has(path)) return undefined
  return anchor === undefined ? path : `${path}#${anchor}`
}
