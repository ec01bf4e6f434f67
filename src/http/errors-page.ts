import type { Middleware } from 'koa'
import { CODE_SECTIONS, ERROR_GROUPS, ERRORS_PATH } from '../error-codes/index.ts'
import { buildPage, sendPage } from './page.ts'

type Entry = { anchor: string; code: string; status?: number; meaning: string; remedy: string }

/** Serves the page with every error code, to which `docUrl` of an error leads. It is built once. */
export function errorsPage(): Middleware {
  const html = buildPage('Errors of Parley', buildBody())
  return async function answerErrorsPage(ctx, next) {
    if (ctx.path !== ERRORS_PATH || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    sendPage(ctx, html)
  }
}

function buildBody(): string {
  const groups = ERROR_GROUPS.map(({ title, errors }) => {
    const entries = Object.entries(errors).map(([code, entry]) => ({ anchor: code, code, ...entry }))
    return { title, introduction: '', entries }
  })
  const sections = CODE_SECTIONS.map(({ title, prefix, introduction, codes }) => {
    const entries = Object.entries(codes).map(([code, entry]) => ({ anchor: `${prefix}-${code}`, code, ...entry }))
    return { title, introduction: `<p>${toHtml(introduction)}</p>\n`, entries }
  })
  const parts = [...groups, ...sections].map((part) => ({ ...part, anchor: toAnchor(part.title) }))
  const contents = parts.map(({ anchor, title }) => `<li><a href="#${anchor}">${toHtml(title)}</a></li>`)
  const texts = parts.map(
    ({ anchor, title, introduction, entries }) =>
      `<h2 id="${anchor}">${toHtml(title)}</h2>\n${introduction}${entries.map(buildEntry).join('\n')}`,
  )
  return [
    '<h1>Errors of Parley</h1>',
    '<p>The body of an error has its code as <code>code</code>, and the address of its explanation as <code>docUrl</code>. Errors with the status 401, 403 or 429 may have only a text.</p>',
    `<ul>\n${contents.join('\n')}\n</ul>`,
    ...texts,
  ].join('\n')
}

function buildEntry({ anchor, code, status, meaning, remedy }: Entry): string {
  const suffix = status === undefined ? '' : ` (${status})`
  return `<h3 id="${anchor}"><a href="#${anchor}"><code>${code}</code></a>${suffix}</h3>\n<p>${toHtml(meaning)}</p>\n<p>${toHtml(remedy)}</p>`
}

/** Returns the anchor that the heading has in docs/errors.md, too. */
function toAnchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

/** Converts the marks of code and links in a text. */
function toHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\[([^\]]+)\]\((#[\w-]+)\)/g, '<a href="$2">$1</a>')
}
