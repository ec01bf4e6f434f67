import { createHash } from 'node:crypto'
import type { Context } from 'koa'

const STYLE = [
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}',
  'code,pre{font-family:ui-monospace,monospace;font-size:.9em}',
  'pre{overflow-x:auto;padding:.75rem 1rem;border:1px solid #8886;border-radius:.4rem}',
].join('')

/** Pages load nothing, send nothing and run no script. */
const CONTENT_SECURITY_POLICY = [
  `default-src 'none'`,
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** Builds a page of HTML, whose colors follow the scheme of the browser. */
export function buildPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`
}

export function sendPage(ctx: Context, html: string): void {
  ctx.set('Cache-Control', 'no-cache')
  ctx.set('Content-Security-Policy', CONTENT_SECURITY_POLICY)
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = html
}
