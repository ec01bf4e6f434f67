import { readFile } from 'node:fs/promises'
import type { Context, Middleware } from 'koa'
import { ERRORS_PATH } from '../../error-codes/index.ts'
import { buildOnce } from '../../platform/concurrency/build-once.ts'
import type { ShownAccount } from '../index-page.ts'
import type { OpenApi } from '../openapi/openapi-route.ts'
import { DOCS_PATH, isDocs } from '../paths.ts'
import { prepareAnswer, sendAnswer, type StaticAnswer } from '../static-answer.ts'
import { type Assets, loadAssets } from './assets.ts'
import { type ProjectDocuments, readDocuments, renderDocument } from './documents.ts'
import { buildErrorsPage } from './errors-page.ts'
import { buildPage, CONTENT_SECURITY_POLICY, type PageContent } from './layout.ts'
import { buildNavigation } from './navigation.ts'
import { buildReferencePage } from './reference-page.ts'

type SiteOptions = {
  readOpenApi: () => Promise<OpenApi>
  account: ShownAccount
  /** The folder of the documents; by default that of the project. */
  folder?: URL
}

type Pages = Map<string, () => Promise<StaticAnswer>>

type Site = { assets: Assets['answers']; pages: Pages; missing: StaticAnswer }

/** The address of an asset contains a hash of its contents. */
const FOREVER = 'public, max-age=31536000, immutable'

/**
 * Serves the documentation: the API reference, the error codes, the documents and their pictures. The list of pages is
 * made on the first request, and each page when it is asked for. No path reaches a file by its name.
 */
export function docsSite(options: SiteOptions): Middleware {
  const open = buildOnce(() => openSite(options))
  return async function answerDocs(ctx, next) {
    if (!isDocs(ctx.path) || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    const { assets, pages, missing } = await open()
    const asset = assets.get(ctx.path)
    if (asset) return sendAnswer(ctx, asset, { cacheControl: FOREVER })
    const readPage = pages.get(ctx.path)
    sendPage(ctx, readPage ? await readPage() : missing, readPage ? 200 : 404)
  }
}

/** A picture that is opened by itself has its own styles, and nothing else. */
const PICTURE_POLICY = `default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'`

function sendPage(ctx: Context, answer: StaticAnswer, status: number): void {
  ctx.set('Content-Security-Policy', ctx.path.endsWith('.svg') ? PICTURE_POLICY : CONTENT_SECURITY_POLICY)
  sendAnswer(ctx, answer, { status })
}

async function openSite({ readOpenApi, account, folder }: SiteOptions): Promise<Site> {
  const [assets, project] = await Promise.all([loadAssets(), readDocuments(folder)])
  const { style, guideScript, referenceScript } = assets.paths
  const navigation = buildNavigation(project.documents)
  const toAnswer = (content: Omit<PageContent, 'script'> & Partial<PageContent>) =>
    prepareAnswer('text/html; charset=utf-8', buildPage({ script: guideScript, ...content }, { style, navigation }))
  const pages: Pages = new Map()
  addPage(pages, DOCS_PATH, async () => {
    const main = buildReferencePage(await readOpenApi(), account)
    return toAnswer({ path: DOCS_PATH, title: 'API reference', main, headings: [], script: referenceScript })
  })
  addPage(pages, ERRORS_PATH, () => toAnswer({ path: ERRORS_PATH, title: 'Errors', ...buildErrorsPage() }))
  addDocuments(pages, project, toAnswer)
  const missing = await toAnswer({ path: '', title: 'Not found', main: NOT_FOUND, headings: [] })
  return { assets: assets.answers, pages, missing }
}

function addDocuments(
  pages: Pages,
  { documents, images }: ProjectDocuments,
  toAnswer: (content: Omit<PageContent, 'script'>) => Promise<StaticAnswer>,
): void {
  for (const { path, file } of images) {
    const type = path.endsWith('.svg') ? 'image/svg+xml; charset=utf-8' : 'image/png'
    addPage(pages, path, async () => prepareAnswer(type, await readFile(file)))
  }
  const known = new Set([...pages.keys(), ...documents.map(({ path }) => path)])
  for (const document of documents) {
    addPage(pages, document.path, async () => {
      const { html, headings } = await renderDocument(document, known)
      return toAnswer({ path: document.path, title: document.title, main: html, headings })
    })
  }
}

function addPage(pages: Pages, path: string, build: () => Promise<StaticAnswer>): void {
  pages.set(path, buildOnce(build))
}

const NOT_FOUND = `<h1>Not found</h1>
<p>The documentation has no page with this address. The list of pages names all of them.</p>`
