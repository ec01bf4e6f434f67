import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { format } from 'prettier'
import ts from 'typescript'
import packageJson from '../../package.json' with { type: 'json' }
import { LOCK_ORDER } from '../../src/features/automation/lock-order.ts'
import { listTableRows, readDocument, ROOT, sectionOf } from '../support/documents.ts'
import { readSourceFiles, readTextFiles, type SourceFile } from '../support/source-files.ts'

const LOCKS_PAGE = 'docs/architecture/locks.md'
const sources = readSourceFiles(['src'])

describe('docs/architecture', () => {
  it('describes every feature and every folder of the engine', () => {
    const map = readDocument('docs/architecture/README.md')
    for (const [heading, folder] of [
      ['Features', 'src/features'],
      ['Engine', 'src/engine'],
    ] as const) {
      const names = listTableRows(sectionOf(map, heading)).flatMap(([cell = '']) => cell.split(', '))
      expect(names, heading).to.have.members(readdirSync(join(ROOT, folder)).map((name) => `\`${name}\``))
    }
  })

  it('lists every page', () => {
    const { text } = readDocument('docs/architecture/README.md')
    const pages = readdirSync(join(ROOT, 'docs/architecture')).filter((name) => name !== 'README.md')
    const linked = [...text.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map(([, name]) => name)
    expect(linked).to.have.members(pages)
  })

  it('names the installed versions of the packages whose internals are used', () => {
    const versions: Record<string, string> = packageJson.dependencies
    const rows = listTableRows(sectionOf(readDocument('docs/architecture/README.md'), 'Internals of packages'))
    expect(rows.length).to.be.greaterThan(5)
    for (const [name = '', version] of rows) expect(version, name).to.equal(versions[name.replaceAll('`', '')])
  })

  it('lists every job and every periodic task, with its interval', () => {
    const page = readDocument('docs/architecture/jobs.md')
    const tasks = sources.filter(({ path }) => ['src/jobs.ts', 'src/app.ts'].includes(path)).map(({ text }) => text)
    const periodic = [...tasks.join('\n').matchAll(/\{\s*name: '([^']+)',\s*everyMs: ([^,]+),/g)]
    const rows = listTableRows(sectionOf(page, 'Periodic tasks')).map(([name, interval]) => `${name}: ${interval}`)
    expect(rows).to.have.members(periodic.map(([, name, interval = '']) => `${name}: ${toInterval(interval)}`))
    const handlers = [...tasks.join('\n').matchAll(/^ {4}'?([a-z-]+)'?: \(job/gm)]
    const jobs = listTableRows(sectionOf(page, 'Kinds of jobs')).map(([name]) => name)
    expect(jobs).to.have.members(handlers.map(([, name]) => `\`${name}\``))
  })

  it('lists every cache of src, each with a bound', () => {
    const listed = listTableRows(sectionOf(readDocument('docs/architecture/limits.md'), 'Caches')).flatMap(
      ([, home = '']) => [...home.matchAll(/`(src\/[^`]+)`/g)].map(([, path = '']) => path),
    )
    const caches = sources.filter(({ text }) =>
      /new (?:LRUCache|ExpiringCache)\b|^const \w+ = new (?:Map|Set)<[^(]*>\(\)/m.test(text),
    )
    const unbounded = caches.filter(({ text }) => /new LRUCache(?:<[^(]*>)?\((?!\{\s*max(?:Size)?\b)/.test(text))
    expect(caches.length).to.be.greaterThan(10)
    expect(unbounded.map(({ path }) => path)).to.deep.equal([])
    const missing = caches.filter(({ path }) => !listed.some((home) => path.startsWith(home)))
    expect(missing.map(({ path }) => path)).to.deep.equal([])
  })

  it('states the lock order of the code', async () => {
    const document = readDocument(LOCKS_PAGE)
    const expected = await formatLockOrder()
    const existing = sectionOf(document, 'Order').trim()
    if (process.env['WRITE_DOCS']) writeFileSync(join(ROOT, LOCKS_PAGE), document.text.replace(existing, expected))
    else expect(existing, 'WRITE_DOCS=1 npx mocha test/unit/docs-architecture.test.ts writes it').to.equal(expected)
  })
})

describe('lock order', () => {
  it('contains every table of which src locks rows, and no other', () => {
    const locked = new Set(sources.flatMap(listLockedTables))
    expect([...locked]).to.have.members(LOCK_ORDER.flatMap(({ tables }) => tables))
  })
})

function formatLockOrder(): Promise<string> {
  const rows = LOCK_ORDER.map(({ lock, tables, takenBy }, index) =>
    [index + 1, lock, tables.map((name) => `\`${name}\``).join(', '), takenBy].join(' | '),
  )
  const table = ['Order | Lock | Tables | Taken by', '--- | --- | --- | ---', ...rows]
  return format(table.map((row) => `| ${row} |`).join('\n'), { parser: 'markdown' }).then((text) => text.trim())
}

/** Converts the source of an interval, such as `10 * MINUTE`, to the text of the page. */
function toInterval(source: string): string {
  if (source === 'SECOND / 4') return '250 ms'
  const [, count = '1', unit = ''] = /^(?:(\d+) \* )?([A-Z]+)$/.exec(source) ?? []
  return `${count} ${unit.toLowerCase()}${count === '1' ? '' : 's'}`
}

const MODELS = new Map(
  readTextFiles(['src/models'], '.ts').flatMap(({ text }) =>
    [...text.matchAll(/class (\w+)[^{]*\{\s*static override tableName = '(\w+)'/g)].map(
      ([, model = '', table = '']): [string, string] => [model, table],
    ),
  ),
)

const SQL_LOCK = /\bfor (?:no key update|update|key share|share)\b(?: of (\w+))?/g
const BUILDER_LOCK =
  /\.lock\(([A-Z]\w+),|\.(?:query\((\w+)\)|db\('(\w+)'\))(?:(?!\.query\(|\.db\().){0,400}?\.for(?:NoKey|Key)?(?:Update|Share)\(/gs

/** The statements of these files lock rows of tables that their templates bind. */
const BOUND_TABLES: Record<string, string[]> = {
  'src/features/automation/store/mailbox-store.ts': ['conversations', 'contacts', 'runs'],
  'src/scope/scope.ts': [],
}

function listLockedTables(file: SourceFile): string[] {
  const bound = BOUND_TABLES[file.path]
  if (bound) return bound
  const inSql = listTemplates(file).flatMap((sql) =>
    [...sql.matchAll(SQL_LOCK)].map(({ 1: alias, index }) => findTable(sql, { alias, index })),
  )
  const inBuilders = [...file.text.matchAll(BUILDER_LOCK)].map(([, locked, queried, table]) => {
    return table ?? MODELS.get(resolveImport(file.text, locked ?? queried ?? ''))
  })
  return [...inSql, ...inBuilders].map((table) => table ?? `${file.path}: a lock of an unknown table`)
}

/** Lists the template literals that are in no other one, with what is bound in them. */
function listTemplates({ ast }: SourceFile): string[] {
  const texts: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTemplateLiteral(node)) texts.push(node.getText())
    else ts.forEachChild(node, visit)
  }
  visit(ast)
  return texts
}

/** Finds the table of the innermost subquery around a lock that has one, or that of the alias which the lock names. */
function findTable(sql: string, { alias, index }: { alias: string | undefined; index: number }): string | undefined {
  if (alias) return new RegExp(`\\b(?:from|join) (\\w+) ${alias}\\b`).exec(sql)?.[1]
  let outer = sql.slice(0, index)
  for (let inner = ''; inner !== outer;) {
    inner = outer
    outer = inner.replaceAll(/\([^()]*\)/g, '')
  }
  // What is left open are the subqueries around the lock, the innermost last.
  const tables = outer.split('(').map((part) => /\bfrom (\w+)/.exec(part)?.[1])
  return tables.findLast((table) => table !== undefined)
}

function resolveImport(text: string, name: string): string {
  return new RegExp(`(\\w+) as ${name}\\b`).exec(text)?.[1] ?? name
}
