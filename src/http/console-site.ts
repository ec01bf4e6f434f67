import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Context, Middleware } from 'koa'
import { buildOnce } from '../platform/concurrency/build-once.ts'
import type { Logger } from '../platform/log.ts'
import { MINUTE } from '../platform/time.ts'
import type { ShownAccount } from './index-page.ts'
import { buildPage, sendPage } from './page.ts'
import { CONSOLE_PATH, isUnder } from './paths.ts'
import { prepareAnswer, sendAnswer, type StaticAnswer } from './static-answer.ts'
import { findConsoleFiles } from './console-files.ts'

type Options = {
  /** Offered to browsers on this machine, unless the server is one of production. */
  account: ShownAccount
  isProduction: boolean
  log: Logger
}

type Site = { files: Map<string, StaticAnswer>; html: string }

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
}

/** Vite puts a hash of the contents into the names of the files in this folder. */
const HASHED = `${CONSOLE_PATH}/assets/`
const FOREVER = 'public, max-age=31536000, immutable'

/** The styles that scripts set on elements are no inline styles in the sense of the policy. */
const CONTENT_SECURITY_POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' blob:`,
  `media-src 'self' blob:`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** Time after a failed build in which no request begins another one. */
const FAILED_MS = MINUTE

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1'])

/**
 * Serves the console: its files, and its page at every other path below `/console`. Where it is not built and cannot be
 * built, a page says so, and everything else works.
 */
export function consoleSite({ account, isProduction, log }: Options): Middleware {
  const open = buildOnce(async () => {
    const { files, html } = await openConsole()
    return { files, page: await preparePage(html), pageWithDemo: await preparePage(html, account) }
  })
  let failedAtMs = -Infinity
  return async function answerConsole(ctx, next) {
    const isPage = ctx.path === CONSOLE_PATH || isUnder(ctx.path, CONSOLE_PATH)
    if (!isPage || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    if (performance.now() - failedAtMs < FAILED_MS) return sendMissing(ctx)
    const site = await open().catch((error: unknown) => {
      failedAtMs = performance.now()
      log.warn({ event: 'console_not_built', err: error }, 'the console cannot be built')
      return undefined
    })
    if (!site) return sendMissing(ctx)
    const file = site.files.get(ctx.path)
    if (file) return sendAnswer(ctx, file, { cacheControl: ctx.path.startsWith(HASHED) ? FOREVER : 'no-cache' })
    if (ctx.path.startsWith(HASHED)) return next()
    ctx.set('Content-Security-Policy', CONTENT_SECURITY_POLICY)
    sendAnswer(ctx, !isProduction && isOnThisMachine(ctx) ? site.pageWithDemo : site.page)
  }
}

/** Returns the files of the console and the text of its page. They are built if they are missing. */
export const openConsole = buildOnce(async (): Promise<Site> => {
  const files = new Map<string, StaticAnswer>()
  let html = ''
  for (const { path, file } of await findConsoleFiles()) {
    const type = TYPES[extname(path)]
    if (path === 'index.html') html = await readFile(file, 'utf8')
    else if (type) files.set(`${CONSOLE_PATH}/${path}`, await prepareAnswer(type, await readFile(file)))
  }
  return { files, html }
})

function preparePage(html: string, account?: ShownAccount): Promise<StaticAnswer> {
  const demo = account ? `<meta name="parley-demo" content="${account.email} ${account.password}">` : ''
  return prepareAnswer(
    'text/html; charset=utf-8',
    html.replace('<title>', () => `${demo}<title>`),
  )
}

/** A proxy on this machine forwards requests of others: with a header that says so, or to the name that they use. */
function isOnThisMachine(ctx: Context): boolean {
  const isForwarded = ['x-forwarded-for', 'forwarded', 'via'].some((name) => ctx.get(name) !== '')
  const isLocalName = ['localhost', '127.0.0.1', '[::1]'].includes(ctx.hostname)
  return LOOPBACK.has(ctx.req.socket.remoteAddress ?? '') && isLocalName && !isForwarded
}

function sendMissing(ctx: Context): void {
  ctx.status = 503
  sendPage(
    ctx,
    buildPage(
      'Parley',
      `<h1>The console is not built</h1>
<p>Everything else of this server works. To build the console from the sources, install the packages for development as well:</p>
<pre>npm ci --include=dev</pre>
<p>and load this page again. A compiled build has the console after <code>npm run build</code>. The log has the reason.</p>`,
    ),
  )
}
