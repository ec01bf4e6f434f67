import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { buildOpenApi } from '../../src/http/openapi/build-openapi.ts'
import { appRouter } from '../../src/router.ts'
import { type Document, listDocuments, listTableRows, readDocument, ROOT, sectionOf } from '../support/documents.ts'

const WORDS_MAX = 900
const documents = listDocuments()
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

describe('documentation', () => {
  it(`README.md has at most ${WORDS_MAX} words`, () => {
    expect(readDocument('README.md').text.split(/\s+/).length).to.be.at.most(WORDS_MAX)
  })

  it('marks every shell block that no test runs, with a reason', () => {
    const unmarked = documents.flatMap(({ path, blocks }) =>
      blocks
        .filter(({ language, notRun }) => language === 'sh' && notRun === null)
        .filter(({ heading }) => !(path === 'docs/operations.md' && TESTED_OPERATIONS.has(heading)))
        .map(({ line }) => `${path}:${line}`),
    )
    expect(unmarked).to.deep.equal([])
  })

  it('names only npm scripts that exist', () => {
    const named = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/npm (?:run (?:--silent )?([\w:-]+)|(start|test)\b)/g)].map(([, name, script = name]) => ({
        path,
        script: script ?? '',
      })),
    )
    const known = new Set(Object.keys(scripts))
    expect(named.length).to.be.greaterThan(10)
    expect(named.filter(({ script }) => !known.has(script))).to.deep.equal([])
  })

  it('names only files and folders that exist', () => {
    const named = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/`((?:src|test|bench|chaos|seeds|migrations|scripts|docs)\/[^`<>*{}\s]*)`/g)].map(
        ([, target = '']) => `${path}: ${target}`,
      ),
    )
    expect(named.length).to.be.greaterThan(20)
    expect(named.filter((entry) => !existsSync(join(ROOT, entry.split(': ')[1] ?? '')))).to.deep.equal([])
  })

  it('has no table with the same row twice', () => {
    const repeated = documents.flatMap(({ path, text }) =>
      text.split(/\n(?!\|)/).flatMap((table) => {
        const rows = table.split('\n').filter((line) => line.startsWith('|'))
        return rows.filter((row, index) => rows.indexOf(row) !== index).map((row) => `${path}: ${row}`)
      }),
    )
    expect(repeated).to.deep.equal([])
  })

  it('links only to files and headings that exist', () => {
    const broken = documents.flatMap((document) =>
      [...document.text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)]
        .filter(([, target = '', anchor]) => !isThere(document, target, anchor))
        .map(([link]) => `${document.path}: ${link}`),
    )
    expect(broken).to.deep.equal([])
  })

  it('describes every benchmark in CONTRIBUTING.md', () => {
    const source = readFileSync(join(ROOT, 'bench/main.ts'), 'utf8')
    const benches = [...source.matchAll(/^ {2}'?([a-z-]+)'?: bench[A-Z]/gm)].map(([, name]) => `\`${name}\``)
    const rows = listTableRows(sectionOf(readDocument('CONTRIBUTING.md'), 'Measure performance'))
    expect(benches.length).to.be.greaterThan(5)
    expect(rows.map(([name]) => name)).to.have.members(benches)
  })

  it('describes every setting in docs/operations.md and in .env.example', () => {
    const source = readFileSync(join(ROOT, 'src/config.ts'), 'utf8')
    const settings = [...source.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name = '']) => name)
    const rows = listTableRows(sectionOf(readDocument('docs/operations.md'), 'Settings'))
    const example = [...readFileSync(join(ROOT, '.env.example'), 'utf8').matchAll(/^# ([A-Z][A-Z0-9_]+)=/gm)]
    expect(settings.length).to.be.greaterThan(8)
    expect(rows.map(([name]) => name)).to.have.members(settings.map((name) => `\`${name}\``))
    expect(example.map(([, name]) => name)).to.have.members(settings)
  })

  it('lists in docs/api.md the operations that accept an Idempotency-Key', async () => {
    const operations = Object.entries((await buildOpenApi(appRouter)).paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [], responses }]) => ({
        name: `${method.toUpperCase()} ${path}`,
        acceptsKey: JSON.stringify(parameters).includes('IdempotencyKey'),
        creates: '201' in responses,
      })),
    )
    const [list = ''] = sectionOf(readDocument('docs/api.md'), 'Idempotent requests').split('All others')
    const listNames = (text = '') => [...text.matchAll(/`(\w+ \S+)`/g)].map(([, name = '']) => name)
    const [exceptions = [], ...others] = [...list.matchAll(/^- .*$/gm)].map(([line]) => listNames(line))
    const created = operations.filter(({ creates, name }) => creates && !exceptions.includes(name))
    const accepting = operations.filter(({ acceptsKey }) => acceptsKey).map(({ name }) => name)
    expect(exceptions.length).to.equal(4)
    expect(accepting).to.have.members([...created.map(({ name }) => name), ...others.flat()])
  })

  it('gives every decision record a context, options, a decision and consequences', () => {
    const records = documents.filter(({ path }) => /^docs\/adr\/\d{4}-/.test(path))
    expect(records.length).to.be.at.least(9)
    for (const { path, text } of records) {
      const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
      expect(headings, path).to.deep.equal(['Context', 'Options', 'Decision', 'Consequences'])
    }
  })
})

/** Headings of docs/operations.md whose shell blocks `test/integration/docs-operations.test.ts` runs. */
const TESTED_OPERATIONS = new Set(['Back up', 'Restore', 'Reset'])

function isThere({ path, text }: Document, target: string, anchor: string | undefined): boolean {
  const file = join(dirname(path), target)
  if (target !== '' && !existsSync(join(ROOT, file))) return false
  if (anchor === undefined) return true
  const headings = (target === '' ? text : readDocument(file).text).match(/^#+ .*$/gm) ?? []
  return headings.map(toAnchor).includes(anchor)
}

function toAnchor(heading: string): string {
  return heading
    .replace(/^#+ /, '')
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}
