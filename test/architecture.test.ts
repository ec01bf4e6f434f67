import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import ts from 'typescript'
import { listOperations } from '../src/http/rest.ts'
import { appRouter } from '../src/router.ts'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const LINES_MAX = 250

/** Who may import whom. What stands at the top of `src` wires the rest together, and may import anything. */
const MAY_IMPORT: Record<string, string[]> = {
  http: ['http', 'router.ts', 'trpc', 'channels', 'scope.ts', 'platform'],
  features: ['features', 'trpc', 'scope.ts', 'engine', 'channels', 'models', 'platform'],
  trpc: ['trpc', 'scope.ts', 'platform'],
  engine: ['engine', 'platform'],
  channels: ['channels', 'platform'],
  models: ['models', 'platform'],
  platform: ['platform'],
}

const MAY_IMPORT_AT_THE_TOP: Record<string, string[]> = {
  'scope.ts': ['engine', 'channels', 'models', 'platform'],
  'router.ts': ['features', 'trpc'],
  'jobs.ts': ['features', 'engine', 'trpc', 'scope.ts', 'platform'],
  'config.ts': [],
  'client.ts': ['router.ts'],
}

type Source = { path: string; text: string; imports: string[] }

const sources: Source[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8')
    const imports = ts
      .preProcessFile(text, true, true)
      .importedFiles.map(({ fileName }) => fileName)
      .filter((name) => name.startsWith('.'))
      .map((name) => relative(SRC, join(SRC, dirname(path), name)))
    return { path, text, imports }
  })

const layerOf = (path: string) => path.split('/')[0] ?? ''

/** Without comments and texts: what the compiler sees as code. */
function codeOf({ path, text }: Source): string {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, ts.LanguageVariant.Standard, text)
  const words: string[] = []
  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
    const isText = token === ts.SyntaxKind.StringLiteral || token === ts.SyntaxKind.NoSubstitutionTemplateLiteral
    words.push(isText ? "''" : scanner.getTokenText())
  }
  expect(words.length, path).to.be.greaterThan(0)
  return words.join('')
}

function filesWhere(condition: (source: Source) => boolean): string[] {
  return sources.filter(condition).map(({ path }) => path)
}

describe('the house', () => {
  it('is built so that imports go one way', () => {
    const wrong = sources.flatMap(({ path, imports }) => {
      const allowed = path.includes('/') ? MAY_IMPORT[layerOf(path)] : MAY_IMPORT_AT_THE_TOP[path]
      if (!path.includes('/') && !allowed) return []
      return imports.filter((target) => !allowed?.includes(layerOf(target))).map((target) => `${path} -> ${target}`)
    })
    expect(wrong).to.deep.equal([])
  })

  it('lets a feature use the rules of another, and never its router', () => {
    const wrong = sources
      .filter(({ path }) => path.startsWith('features/'))
      .flatMap(({ path, imports }) =>
        imports
          .filter((target) => target.endsWith('/router.ts') && target.startsWith('features/'))
          .map((target) => `${path} -> ${target}`),
      )
    expect(wrong).to.deep.equal([])
  })

  it('names folder, procedure and path alike', () => {
    for (const { path, procedurePath } of listOperations(appRouter)) {
      expect(path.split('/').slice(0, 3), procedurePath).to.deep.equal(['', 'api', procedurePath.split('.')[0]])
    }
    const namespaces = Object.keys(appRouter._def.record)
    for (const name of namespaces) {
      expect(
        sources.some(({ path }) => path === `features/${name}/router.ts`),
        name,
      ).to.equal(true)
    }
  })

  it('has no path that an earlier one of the same method would catch', () => {
    const operations = listOperations(appRouter)
    const shadowed = operations.flatMap((later, index) =>
      operations
        .slice(0, index)
        .filter((earlier) => earlier.method === later.method && catches(earlier.path, later.path))
        .map((earlier) => `${earlier.path} catches ${later.path}`),
    )
    expect(shadowed).to.deep.equal([])
  })

  it('reads the environment in one place', () => {
    expect(filesWhere((source) => codeOf(source).includes('process.env'))).to.deep.equal(['config.ts'])
  })

  it('reads the clock in one place', () => {
    const reads = filesWhere((source) => /new(?:Date\(\)|Date;)|Date\.now\(/.test(codeOf(source)))
    expect(reads).to.deep.equal(['platform/time.ts'])
  })

  it('writes to no console', () => {
    expect(filesWhere((source) => /\bconsole\./.test(codeOf(source)))).to.deep.equal([])
  })

  it('knows of transport only where it is carried', () => {
    const knows = filesWhere(({ text }) => /from '(?:@trpc\/server|koa|koa-router|@koa)/.test(text))
    expect(knows.filter((path) => !/^(?:http|trpc)\//.test(path))).to.deep.equal([])
  })

  it(`has no file of more than ${LINES_MAX} lines`, () => {
    expect(filesWhere(({ text }) => text.split('\n').length > LINES_MAX + 1)).to.deep.equal([])
  })
})

function catches(earlier: string, later: string): boolean {
  const [a, b] = [earlier.split('/'), later.split('/')]
  if (a.length !== b.length || earlier === later) return earlier === later
  return a.every((segment, index) => segment.startsWith('{') || segment === b[index])
}
