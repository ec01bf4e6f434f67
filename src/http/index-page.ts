import type { Middleware } from 'koa'
import { ERRORS_PATH } from '../error-codes/index.ts'
import {
  AUTH_PREFIX,
  CONSOLE_PATH,
  DOCS_PATH,
  INDEX_PATH,
  LIVENESS_PATH,
  OPENAPI_PATH,
  POSTMAN_PATH,
  READINESS_PATH,
  TRPC_PREFIX,
} from './paths.ts'
import { buildPage, sendPage } from './page.ts'
import { VERSION } from './version.ts'

/** An account that the page may show, if there is one. */
export type ShownAccount = { email: string; password: string; workspaceId: string; apiKey: string | null } | undefined

/** Longer headers than browsers send are expensive to compare, and get the page. */
const ACCEPT_LENGTH_MAX = 500

/** Serves the page at `/`: HTML for browsers, JSON for clients that prefer it. Both are built once. */
export function indexPage(account: ShownAccount): Middleware {
  const html = buildHtml(account)
  const json = JSON.stringify({
    name: 'Parley',
    version: VERSION,
    links: {
      console: CONSOLE_PATH,
      docs: DOCS_PATH,
      openapi: OPENAPI_PATH,
      postman: POSTMAN_PATH,
      errors: ERRORS_PATH,
      trpc: TRPC_PREFIX,
      liveness: LIVENESS_PATH,
      readiness: READINESS_PATH,
    },
  })
  return async function answerIndex(ctx, next) {
    if (ctx.path !== INDEX_PATH || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    ctx.vary('Accept')
    if (ctx.get('accept').length <= ACCEPT_LENGTH_MAX && ctx.accepts('html', 'json') === 'json') {
      ctx.set('Cache-Control', 'no-cache')
      ctx.type = 'application/json; charset=utf-8'
      ctx.body = json
      return
    }
    sendPage(ctx, html)
  }
}

function buildHtml(account: ShownAccount): string {
  return buildPage(
    'Parley',
    `<h1>Parley ${VERSION}</h1>
<p>Contacts, conversations and workflows on messaging channels, over REST and tRPC.</p>
<p><a href="${CONSOLE_PATH}">Open the console</a>: play a customer, and watch what a workflow does and why.</p>
<h2>${account ? 'Sign in' : 'Sign up'}</h2>
${account ? signInHint(account) : signUpHint()}
<h2>Reference</h2>
<ul>
<li><a href="${DOCS_PATH}">${DOCS_PATH}</a>: every operation, to read and to try, the tutorial and the guides</li>
<li><a href="${OPENAPI_PATH}">${OPENAPI_PATH}</a>: the same operations as an OpenAPI document, for Swagger UI or a client generator</li>
<li><a href="${POSTMAN_PATH}">${POSTMAN_PATH}</a>: the same as a collection of Postman</li>
<li><a href="${ERRORS_PATH}">${ERRORS_PATH}</a>: every error code, its meaning and what to change</li>
<li><code>${TRPC_PREFIX}</code>: the same procedures and the live subscriptions for tRPC clients</li>
<li><a href="${LIVENESS_PATH}">${LIVENESS_PATH}</a> and <a href="${READINESS_PATH}">${READINESS_PATH}</a>: health of this process</li>
</ul>`,
  )
}

function signInHint({ email, password, workspaceId, apiKey }: NonNullable<ShownAccount>): string {
  const keyHint =
    apiKey === null
      ? ''
      : `<p>A program sends an API key of the workspace instead. <code>README.md</code> shows a session with curl.</p>
<pre>Authorization: Bearer ${apiKey}</pre>`
  return `<p>The owner of the demo workspace signs in with:</p>
<pre>POST ${AUTH_PREFIX}/sign-in/email
{"email":"${email}","password":"${password}"}</pre>
<p>Send the session cookie of the answer and the header <code>x-tenant-id: ${workspaceId}</code> with every other request.</p>
${keyHint}`
}

function signUpHint(): string {
  return `<p>Create an account with a workspace of its own:</p>
<pre>POST ${AUTH_PREFIX}/sign-up/email
{"name":"…","email":"…","password":"…"}</pre>
<p>Send the session cookie of the answer and the header <code>x-tenant-id</code> with the id of the workspace, which <code>GET ${AUTH_PREFIX}/get-session</code> lists, with every other request.</p>`
}
