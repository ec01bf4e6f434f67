import { Marked, type RendererObject, type Tokens } from 'marked'
import { escapeHtml, type Heading, toAnchor } from './html.ts'

/** Returns the address of a link or picture on this site; undefined if the site does not have its target. */
type Resolve = (target: string) => string | undefined

export type RenderedDocument = { html: string; headings: Heading[] }

/**
 * Renders a document of the project. HTML in it is shown as text, apart from comments, which are left out. A link whose
 * target the site does not have becomes the name of the target.
 */
export function renderMarkdown(text: string, resolve: Resolve): RenderedDocument {
  const headings: Heading[] = []
  const marked = new Marked({ renderer: { ...blocks(headings), ...inlines(resolve) } })
  return { html: marked.parse(text, { async: false }), headings }
}

/** Tables and blocks of code scroll by themselves, and can be scrolled with the keyboard. */
function blocks(headings: Heading[]): RendererObject {
  const seen = new Map<string, number>()
  return {
    heading({ tokens, depth }) {
      const label = this.parser.parseInline(tokens, this.parser.textRenderer)
      const base = toAnchor(label)
      const repeated = seen.get(base) ?? 0
      seen.set(base, repeated + 1)
      const anchor = repeated === 0 ? base : `${base}-${repeated}`
      headings.push({ level: depth, text: label, anchor })
      const html = this.parser.parseInline(tokens)
      if (depth === 1) return `<h1 id="${anchor}">${html}</h1>\n`
      return `<h${depth} id="${anchor}"><a class="anchor" href="#${anchor}">${html}</a></h${depth}>\n`
    },
    code({ text, lang = '' }) {
      const language = /^[a-z]+/.exec(lang)?.[0] ?? 'text'
      const block = `<pre tabindex="0" data-language="${language}"><code>${escapeHtml(text)}</code></pre>\n`
      if (language !== 'mermaid') return block
      return `<figure>${block}<figcaption>A diagram in the language of Mermaid</figcaption></figure>\n`
    },
    table(token: Tokens.Table) {
      const row = (cells: Tokens.TableCell[], tag: string) =>
        `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
      const body = token.rows.map((cells) => row(cells, 'td')).join('\n')
      return `<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>\n<thead>${row(token.header, 'th')}</thead>\n<tbody>${body}</tbody>\n</table></div>\n`
    },
  }
}

function inlines(resolve: Resolve): RendererObject {
  return {
    html({ text }) {
      return text.trimStart().startsWith('<!--') ? '' : escapeHtml(text)
    },
    link({ href, tokens }) {
      const label = this.parser.parseInline(tokens)
      const target = resolve(href)
      if (target !== undefined) return `<a href="${escapeHtml(target)}">${label}</a>`
      const name = escapeHtml(href.replace(/^(?:\.\.?\/)+/, '').replace(/#.*/, ''))
      const isNamed = label.replaceAll(/<[^>]+>/g, '') === name
      return isNamed ? `<code>${name}</code>` : `${label} (<code>${name}</code> in the folder of Parley)`
    },
    image({ href, text }) {
      const target = resolve(href)
      return target === undefined
        ? escapeHtml(text)
        : `<img src="${escapeHtml(target)}" alt="${escapeHtml(text)}" loading="lazy">`
    },
  }
}
