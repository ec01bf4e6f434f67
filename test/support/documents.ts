import { expect } from 'chai'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'prettier'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A fenced block of code. `notRun` is the reason that the comment `<!-- not run: reason -->` above it states. */
export type Block = { language: string; text: string; line: number; heading: string; notRun: string | null }

export type Document = { path: string; text: string; blocks: Block[] }

/** The documents at the root and in `docs/`, with paths relative to the root. */
export function listDocuments(): Document[] {
  const names = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`)
  const paths = [...readdirSync(ROOT), ...names].filter((path) => path.endsWith('.md'))
  return paths.sort().map(readDocument)
}

export function readDocument(path: string): Document {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return { path, text, blocks: listBlocks(text) }
}

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm
const NOT_RUN = /<!-- not run: (.+?) -->\s*$/

function listBlocks(text: string): Block[] {
  return [...text.matchAll(FENCE)].map(({ 1: language = '', 2: code = '', index }) => {
    const above = text.slice(0, index)
    return {
      language,
      text: code,
      line: above.split('\n').length,
      heading:
        above
          .match(/^#+ .*$/gm)
          ?.at(-1)
          ?.replace(/^#+ /, '') ?? '',
      notRun: NOT_RUN.exec(above)?.[1] ?? null,
    }
  })
}

/** The rows of a table, without its head and with the cells as they are written. */
export function listTableRows(markdown: string): string[][] {
  const lines = markdown.split('\n').filter((line) => line.startsWith('|'))
  const rows = lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  const isRule = (row: string[] | undefined) => row?.every((cell) => /^:?-+:?$/.test(cell)) ?? false
  return rows.filter((row, index) => !isRule(row) && !isRule(rows[index + 1]))
}

/**
 * Expects a section to be an introduction and the table of these rows, of which the first is the head. With WRITE_DOCS it
 * writes the table instead.
 */
export async function expectTable(path: string, heading: string, rows: string[][]): Promise<void> {
  const document = readDocument(path)
  const [introduction = '', table = ''] = sectionOf(document, heading).trim().split('\n\n')
  const [head = [], ...body] = rows
  const lines = [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`)
  const expected = (await format(lines.join('\n'), { parser: 'markdown' })).trim()
  if (process.env['WRITE_DOCS']) {
    const section = [introduction, table].filter(Boolean).join('\n\n')
    writeFileSync(join(ROOT, path), document.text.replace(section, `${introduction}\n\n${expected}`))
  } else expect(table, `WRITE_DOCS=1 npx mocha 'test/unit/docs*.test.ts' writes ${path}`).to.equal(expected)
}

/** The text below a heading, up to the next heading of the same or a higher level. */
export function sectionOf({ path, text }: Document, heading: string): string {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading)
  if (start === -1) throw new Error(`${path} has no heading "${heading}"`)
  const level = /^#+/.exec(lines[start] ?? '')?.[0].length ?? 0
  const length = lines.slice(start + 1).findIndex((line) => (/^#+(?= )/.exec(line)?.[0].length ?? Infinity) <= level)
  return lines.slice(start + 1, length === -1 ? undefined : start + 1 + length).join('\n')
}
