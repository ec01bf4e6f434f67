import { DOCS_PATH } from '../paths.ts'
import { VERSION } from '../version.ts'
import { escapeHtml, type Heading } from './html.ts'

export type NavigationGroup = { title: string; pages: { path: string; title: string }[] }

/** The addresses of the files that pages load. */
export type AssetPaths = { style: string; guideScript: string; referenceScript: string }

/** A page of the site. `main` is HTML. */
export type PageContent = { path: string; title: string; main: string; headings: Heading[]; script: string }

/** Pages load styles, scripts, pictures and data from this server, and nothing else. */
export const CONTENT_SECURITY_POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** Headings of this level are listed beside the page. */
const LISTED_LEVEL = 2

/** Builds a page with the navigation of the site. */
export function buildPage(
  { path, title, main, headings, script }: PageContent,
  { style, navigation }: { style: string; navigation: NavigationGroup[] },
): string {
  const listed = headings.filter(({ level }) => level === LISTED_LEVEL)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} – Parley</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><a href="${DOCS_PATH}">Parley</a> <span>${VERSION}</span></header>
<nav class="site" aria-label="Documentation"><details class="menu"><summary>Documentation</summary>
${navigation.map((group) => listGroup(group, path)).join('\n')}
</details></nav>
<main id="main" tabindex="-1">
${main}
</main>
${listed.length > 1 ? listHeadings(listed) : ''}
</body>
</html>
`
}

function listGroup({ title, pages }: NavigationGroup, current: string): string {
  const items = pages.map((page) => {
    const mark = page.path === current ? ' aria-current="page"' : ''
    return `<li><a href="${page.path}"${mark}>${escapeHtml(page.title)}</a></li>`
  })
  return `<h2>${title}</h2>\n<ul>\n${items.join('\n')}\n</ul>`
}

function listHeadings(headings: Heading[]): string {
  const items = headings.map(({ text, anchor }) => `<li><a href="#${anchor}">${escapeHtml(text)}</a></li>`)
  return `<nav class="contents" aria-label="On this page"><details class="menu"><summary>On this page</summary>
<ul>
${items.join('\n')}
</ul>
</details></nav>`
}
