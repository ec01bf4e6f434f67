import { CODE_SECTIONS, ERROR_GROUPS } from '../../error-codes/index.ts'
import { type Heading, toAnchor } from './html.ts'

type Entry = { anchor: string; code: string; status?: number; meaning: string; remedy: string }

/** Builds the page with every error code, to which `docUrl` of an error leads. */
export function buildErrorsPage(): { main: string; headings: Heading[] } {
  const groups = ERROR_GROUPS.map(({ title, errors }) => {
    const entries = Object.entries(errors).map(([code, entry]) => ({ anchor: code, code, ...entry }))
    return { title, introduction: '', entries }
  })
  const sections = CODE_SECTIONS.map(({ title, prefix, introduction, codes }) => {
    const entries = Object.entries(codes).map(([code, entry]) => ({ anchor: `${prefix}-${code}`, code, ...entry }))
    return { title, introduction: `<p>${toHtml(introduction)}</p>\n`, entries }
  })
  const parts = [...groups, ...sections].map((part) => ({ ...part, anchor: toAnchor(part.title) }))
  const texts = parts.map(
    ({ anchor, title, introduction, entries }) =>
      `<h2 id="${anchor}"><a class="anchor" href="#${anchor}">${toHtml(title)}</a></h2>\n${introduction}${entries.map(buildEntry).join('\n')}`,
  )
  const main = [
    '<h1>Errors</h1>',
    '<p>The body of an error has its code as <code>code</code>, and the address of its explanation as <code>docUrl</code>. Errors with the status 401, 403 or 429 may have only a text.</p>',
    ...texts,
  ].join('\n')
  return { main, headings: parts.map(({ title, anchor }) => ({ level: 2, text: title, anchor })) }
}

function buildEntry({ anchor, code, status, meaning, remedy }: Entry): string {
  const suffix = status === undefined ? '' : ` (${status})`
  return `<h3 id="${anchor}"><a class="anchor" href="#${anchor}"><code>${code}</code></a>${suffix}</h3>\n<p>${toHtml(meaning)}</p>\n<p>${toHtml(remedy)}</p>`
}

/** Converts the marks of code and links in a text. */
function toHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\[([^\]]+)\]\((#[\w-]+)\)/g, '<a href="$2">$1</a>')
}
