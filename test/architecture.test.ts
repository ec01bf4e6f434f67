import { dirname, join } from 'node:path'
import { expect } from 'chai'
import ts from 'typescript'
import packageJson from '../package.json' with { type: 'json' }
import { listOperations } from '../src/http/rest.ts'
import { appRouter } from '../src/router.ts'
import { workflowLanguage } from '../src/workflow-language.ts'
import {
  listBannedDocstrings,
  listBannedFunctionNames,
  listBannedTitles,
  listBannedWords,
} from './support/list-word-violations.ts'
import {
  at,
  readSourceFiles,
  readTextFiles,
  splitWords,
  walk,
  type SourceFile,
  type TextFile,
} from './support/source-files.ts'

const LINES_MAX = 250
const FILES_MAX = 15
const CASTS_MAX = 39

/** Folders that may hold more files than FILES_MAX, each with its reason. */
const LARGE_FOLDERS: Record<string, string> = {}

/** The folders each folder of `src` may import. Files at the top of `src` wire the parts and may import anything. */
const LAYERS: Record<string, string[]> = {
  http: ['http', 'router.ts', 'trpc', 'channels', 'scope.ts', 'platform'],
  features: [
    'features',
    'steps',
    'triggers',
    'conditions',
    'workflow-language.ts',
    'trpc',
    'scope.ts',
    'engine',
    'channels',
    'models',
    'message-content',
    'platform',
  ],
  trpc: ['trpc', 'scope.ts', 'platform'],
  steps: ['steps', 'conditions', 'engine', 'channels', 'message-content', 'platform'],
  triggers: ['triggers', 'conditions', 'engine', 'platform'],
  conditions: ['conditions', 'engine', 'platform'],
  engine: ['engine', 'platform'],
  channels: ['channels', 'message-content', 'platform'],
  'message-content': ['message-content', 'platform'],
  models: ['models', 'platform'],
  platform: ['platform'],
}

const TOP_LEVEL_FILES: Record<string, string[]> = {
  'scope.ts': ['engine', 'channels', 'models', 'platform'],
  'workflow-language.ts': ['steps', 'triggers', 'conditions', 'engine'],
  'compute-worker.ts': ['features', 'platform'],
  'router.ts': ['features', 'trpc'],
  'jobs.ts': ['features', 'engine', 'trpc', 'scope.ts', 'platform'],
  'config.ts': ['platform'],
  'client.ts': ['router.ts'],
}

/** The floors of the engine, the lowest first. A folder imports itself and lower floors. */
const ENGINE_FLOORS = [['language'], ['model'], ['compile', 'decide', 'redact'], ['replay'], ['mailbox'], ['simulate']]

/** Types that are terms of the engine as well, each with its meaning there. */
const ENGINE_TERMS: Record<string, string> = {
  event: 'the unit that a mailbox delivers to a run',
  loop: 'a frame that repeats its steps, and the root of its variables',
  branch: 'the way that a step record says it took',
}

/** Files that may use a word of the product in another sense. */
const OTHER_SENSES: Record<string, string> = { 'src/engine/language/liquid.ts': 'Liquid calls its statements tags' }

/** Words of the product that the engine does not know. */
const PRODUCT_NOUNS = ['tag', 'tags', 'group', 'groups', 'channel', 'channels']

const sources = readSourceFiles(['src'])
const migrations = readTextFiles(['migrations'], '.ts')
const documents = readTextFiles(['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs'], '.md')
const tools = readSourceFiles(['bench', 'chaos', 'fake-whatsapp', 'seeds'])
const tests = readSourceFiles(['test'])

/** `contacts` of `src/features/contacts/…`, `engine` of `src/engine/…`, `scope.ts` of `src/scope.ts`. */
function segment(path: string, index: number): string {
  return path.split('/')[index] ?? ''
}

function assertNone(violations: string[]): void {
  if (violations.length > 0) expect.fail(`${violations.length} violations\n${violations.join('\n')}`)
}

function importLines(file: SourceFile, isWrong: (target: string) => boolean): string[] {
  const lines = file.text.split('\n')
  return file.imports.filter(isWrong).map((target) => {
    const name = target.split('/').at(-1) ?? target
    return `${file.path}:${lines.findIndex((line) => line.includes(`/${name}'`)) + 1}: imports ${target}`
  })
}

function codeNodes(file: SourceFile, describeViolation: (node: ts.Node) => string | undefined): string[] {
  const violations: string[] = []
  walk(file.ast, (node) => {
    const violation = describeViolation(node)
    if (violation) violations.push(`${at(file, node)}: ${violation}`)
  })
  return violations
}

describe('architecture: layers', () => {
  it('each folder of src imports only the layers below it', () => {
    assertNone(
      sources.flatMap((file) => {
        const layer = segment(file.path, 1)
        const allowed = file.path.split('/').length > 2 ? (LAYERS[layer] ?? []) : TOP_LEVEL_FILES[layer]
        if (!allowed) return []
        return importLines(file, (target) => !allowed.includes(segment(target, 1)))
      }),
    )
  })

  it('features import each other in one direction, type-only imports included', () => {
    const edges = new Map<string, Map<string, string>>()
    for (const file of sources.filter(({ path }) => path.startsWith('src/features/'))) {
      const from = segment(file.path, 2)
      const targets = edges.get(from) ?? new Map<string, string>()
      edges.set(from, targets)
      for (const target of file.imports.filter((name) => name.startsWith('src/features/'))) {
        const to = segment(target, 2)
        if (to !== from && !targets.has(to)) targets.set(to, importLines(file, (name) => name === target)[0] ?? target)
      }
    }
    const cycle = findCycle(edges)
    if (cycle) expect.fail(`features import each other in a cycle:\n${cycle.join('\n')}`)
  })

  it('no feature imports the router of another feature', () => {
    const features = sources.filter(({ path }) => path.startsWith('src/features/'))
    assertNone(
      features.flatMap((file) => importLines(file, (target) => /^src\/features\/.+\/router\.ts$/.test(target))),
    )
  })

  it('a feature calls procedure builders only in its own router.ts', () => {
    const features = sources.filter(({ path }) => /^src\/features\/.+\.ts$/.test(path) && !path.endsWith('/router.ts'))
    assertNone(
      features.flatMap((file) => importLines(file, (target) => /^src\/trpc\/(?:procedures|rest)\.ts$/.test(target))),
    )
  })

  it('src/router.ts mounts the router of every feature that has one', () => {
    const routers = sources.map(({ path }) => path).filter((path) => /^src\/features\/[^/]+\/router\.ts$/.test(path))
    const mounted = sources.find(({ path }) => path === 'src/router.ts')?.imports ?? []
    expect(routers).to.have.members(mounted.filter((path) => path.startsWith('src/features/')))
  })

  it('transport packages are imported in src/http and src/trpc only', () => {
    const inner = sources.filter(({ path }) => !/^src\/(?:http|trpc)\//.test(path))
    assertNone(
      inner.flatMap((file) =>
        codeNodes(file, (node) => {
          const isImport = ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
          const name = isImport && node.moduleSpecifier?.getText()
          return name && /^'(?:@trpc\/server|koa|koa-router|@koa)/.test(name) ? `imports ${name}` : undefined
        }),
      ),
    )
  })
})

/** The packages that the product is built with, and where each does its job. */
const STACK = new Map<string, string>([
  ['@trpc/server', 'src/trpc/'],
  ['trpc-to-openapi', 'src/http/openapi/'],
  ['koa', 'src/http/server.ts'],
  ['koa-router', 'src/http/api-routes.ts'],
  ['@koa/cors', 'src/http/security/'],
  ['objection', 'src/models/'],
  ['knex', 'src/platform/database/'],
  ['pg', 'src/platform/database/'],
  ['redis', 'src/platform/notifications/'],
  ['rate-limiter-flexible', 'src/platform/rate-limit/'],
  ['superjson', 'src/trpc/'],
  ['mocha', 'test/support/'],
  ['chai', 'test/integration/api/'],
])

describe('architecture: stack', () => {
  for (const [name, home] of STACK) {
    it(`${name} is a dependency and imported below ${home}`, () => {
      const { dependencies, devDependencies } = packageJson
      expect({ ...dependencies, ...(home.startsWith('test/') ? devDependencies : {}) }).to.have.property(name)
      const files = [...sources, ...tests].filter(({ path }) => path.startsWith(home))
      const imports = files.flatMap(({ text }) => ts.preProcessFile(text, true, true).importedFiles)
      expect(imports.map(({ fileName }) => fileName.split('/').slice(0, name.split('/').length).join('/'))).to.include(
        name,
      )
    })
  }

  it('koa-router is the package of its present maintainers, as the one of that name skips middleware', () => {
    expect(packageJson.dependencies['koa-router']).to.match(/^npm:@koa\/router@/)
  })
})

describe('architecture: REST paths', () => {
  it('the path of every procedure starts with /api and its namespace', () => {
    const wrong = listOperations(appRouter).filter(({ path, procedurePath }) => {
      const [, api, namespace] = path.split('/')
      return api !== 'api' || namespace !== procedurePath.split('.')[0]
    })
    assertNone(wrong.map(({ path, procedurePath }) => `${procedurePath}: ${path}`))
  })

  it('no path is shadowed by an earlier path of the same method', () => {
    const operations = listOperations(appRouter)
    assertNone(
      operations.flatMap((later, index) =>
        operations
          .slice(0, index)
          .filter((earlier) => earlier.method === later.method && shadows(earlier.path, later.path))
          .map((earlier) => `${earlier.method} ${later.path} is never reached behind ${earlier.path}`),
      ),
    )
  })
})

describe('architecture: engine', () => {
  const engine = sources.filter(({ path }) => path.startsWith('src/engine/'))
  const floors = new Map(ENGINE_FLOORS.flatMap((folders, floor) => folders.map((folder) => [folder, floor] as const)))

  it('every file of the engine is in one of its folders', () => {
    assertNone(engine.map(({ path }) => path).filter((path) => !floors.has(segment(path, 2))))
  })

  it('each folder of the engine imports only the folders below it', () => {
    assertNone(
      engine.flatMap((file) => {
        const own = segment(file.path, 2)
        return importLines(file, (target) => {
          const folder = segment(target, 2)
          if (!target.startsWith('src/engine/') || folder === own) return false
          return (floors.get(folder) ?? Infinity) >= (floors.get(own) ?? -1)
        })
      }),
    )
  })

  it('the engine names no step type, trigger type, table or other word of the product', () => {
    const types = new Set([...workflowLanguage.steps.keys(), ...workflowLanguage.triggers.keys()])
    const tables = new Set(
      migrations.flatMap(({ text }) => [...text.matchAll(/create table (\w+)/gi)].map(([, table = '']) => table)),
    )
    expect(types.size).to.be.greaterThan(30)
    expect(tables.size).to.be.greaterThan(30)
    for (const term of Object.keys(ENGINE_TERMS)) types.delete(term)
    const checked = engine.filter(({ path }) => !OTHER_SENSES[path])
    assertNone(checked.flatMap((file) => codeNodes(file, (node) => findProductWord(node, types, tables))))
  })
})

describe('architecture: size', () => {
  it(`no folder of src has more than ${FILES_MAX} files`, () => {
    const counts = new Map<string, number>()
    for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
    const large = [...counts].filter(([folder, count]) => count > FILES_MAX && !LARGE_FOLDERS[folder])
    assertNone(large.map(([folder, count]) => `${folder}: ${count} files`))
  })

  it(`no file of src has more than ${LINES_MAX} lines`, () => {
    const long = sources.filter(({ text }) => text.split('\n').length > LINES_MAX + 1)
    assertNone(long.map(({ path, text }) => `${path}:${LINES_MAX + 1}: has ${text.split('\n').length - 1} lines`))
  })
})

/** Libraries that few processes or requests need, with `import()`, so that the others start without them. */
const LOADED_WHEN_NEEDED = [
  '@zxcvbn-ts/language-common',
  'file-type',
  'nodemailer',
  'pino-pretty',
  'redis',
  'trpc-to-openapi',
]

/** Lists what a file loads when it is loaded: relative imports as paths, others as names. */
function listLoaded({ path, ast }: SourceFile): string[] {
  return ast.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return []
    const isType = ts.isExportDeclaration(statement)
      ? statement.isTypeOnly
      : statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
    const from = statement.moduleSpecifier
    if (isType || !from || !ts.isStringLiteral(from)) return []
    return [from.text.startsWith('.') ? join(dirname(path), from.text) : from.text]
  })
}

describe('architecture: start', () => {
  it('a process starts without libraries that few processes or requests need', () => {
    const files = new Map(sources.map((file) => [file.path, file]))
    const reached = new Set(['src/main.ts'])
    for (const path of reached) {
      const file = files.get(path)
      for (const name of file ? listLoaded(file) : []) reached.add(name)
    }
    expect(reached.size).to.be.greaterThan(300)
    assertNone(LOADED_WHEN_NEEDED.filter((name) => reached.has(name)))
  })
})

describe('architecture: code', () => {
  it('the environment is read in src/config.ts only', () => {
    assertNone(listOutside('src/config.ts', (node) => node.getText() === 'process.env'))
  })

  it('the clock is read in src/platform/time.ts only', () => {
    assertNone(
      listOutside('src/platform/time.ts', (node) => {
        if (ts.isNewExpression(node)) return node.expression.getText() === 'Date' && !node.arguments?.length
        return ts.isCallExpression(node) && node.expression.getText() === 'Date.now'
      }),
    )
  })

  it('nothing is written to the console', () => {
    assertNone(
      listOutside('', (node) => ts.isPropertyAccessExpression(node) && node.expression.getText() === 'console'),
    )
  })

  it('statements are named and checked: in features they are templates of a scope', () => {
    const features = sources.filter(({ path }) => path.split('/').length > 2)
    assertNone(
      features
        .filter(({ path }) => !path.startsWith('src/platform/'))
        .flatMap((file) =>
          codeNodes(file, (node) => {
            if (!ts.isCallExpression(node)) return undefined
            const callee = node.expression.getText()
            return /\bdb\.raw$/.test(callee) ? `${callee} instead of scope.sql` : undefined
          }),
        ),
    )
  })

  it(`src has at most ${CASTS_MAX} type assertions`, () => {
    const casts = sources.flatMap((file) =>
      codeNodes(file, (node) => (isCast(node) ? node.getText().replaceAll(/\s+/g, ' ').slice(-60) : undefined)),
    )
    if (casts.length > CASTS_MAX) assertNone(casts)
  })

  it('nothing is cast to never', () => {
    assertNone(
      sources.flatMap((file) =>
        codeNodes(file, (node) => (isCast(node) && node.type.getText() === 'never' ? 'as never' : undefined)),
      ),
    )
  })
})

describe('architecture: language', () => {
  it('the code uses the terms of the glossary', () => {
    assertNone([...sources, ...tools, ...migrations].flatMap(listBannedWords))
  })

  it('the documents use the terms of the glossary', () => {
    assertNone(documents.map(removeFormerNames).flatMap(listBannedWords))
  })

  it('the titles of tests use the terms of the glossary', () => {
    assertNone(tests.flatMap(listBannedTitles))
  })

  it('functions are named by a verb or a conversion', () => {
    assertNone([...sources, ...tools].flatMap(listBannedFunctionNames))
  })

  it('docstrings start with a verb or a noun phrase', () => {
    assertNone([...sources, ...tools, ...migrations, ...tests].flatMap(listBannedDocstrings))
  })
})

/** Removes the cells of the changelog that quote former names: its tables are `| kind | former name | name |`. */
function removeFormerNames(file: TextFile): TextFile {
  if (file.path !== 'CHANGELOG.md') return file
  return { ...file, text: file.text.replaceAll(/^(\|[^|]+\|)[^|]+\|/gm, '$1 |') }
}

function shadows(earlier: string, later: string): boolean {
  const [a, b] = [earlier.split('/'), later.split('/')]
  if (a.length !== b.length || earlier === later) return earlier === later
  return a.every((part, index) => part.startsWith('{') || part === b[index])
}

/** Returns the imports that make up a cycle, if there is one. */
function findCycle(edges: Map<string, Map<string, string>>): string[] | undefined {
  const done = new Set<string>()
  const search = (feature: string, trail: string[], imports: string[]): string[] | undefined => {
    const start = trail.indexOf(feature)
    if (start >= 0) return imports.slice(start)
    if (done.has(feature)) return undefined
    for (const [target, line] of edges.get(feature) ?? []) {
      const cycle = search(target, [...trail, feature], [...imports, line])
      if (cycle) return cycle
    }
    done.add(feature)
    return undefined
  }
  for (const feature of edges.keys()) {
    const cycle = search(feature, [], [])
    if (cycle) return cycle
  }
  return undefined
}

function listOutside(home: string, isRead: (node: ts.Node) => boolean): string[] {
  return sources
    .filter(({ path }) => path !== home)
    .flatMap((file) => codeNodes(file, (node) => (isRead(node) ? node.getText().slice(0, 60) : undefined)))
}

function isCast(node: ts.Node): node is ts.AsExpression | ts.TypeAssertion {
  return (ts.isAsExpression(node) || ts.isTypeAssertionExpression(node)) && node.type.getText() !== 'const'
}

/** Finds a word of the product in an identifier, a text or a template. */
function findProductWord(node: ts.Node, types: Set<string>, tables: Set<string>): string | undefined {
  if (ts.isImportDeclaration(node.parent ?? node)) return undefined
  if (ts.isIdentifier(node)) {
    const words = splitWords(node.text)
    const noun = words.find((word) => PRODUCT_NOUNS.includes(word))
    if (noun) return `"${noun}" in the name ${node.text}`
    const name = words.join('_')
    if (words.length > 1 && (types.has(name) || tables.has(name))) return `the name ${node.text}`
    return undefined
  }
  const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)
  if (!isText) return undefined
  if (types.has(node.text)) return `the type "${node.text}"`
  const statements = [...node.text.matchAll(/\b(?:from|into|update|join)\s+(\w+)/gi)]
  const table = statements.map(([, name = '']) => name).find((name) => tables.has(name))
  if (table || tables.has(node.text)) return `the table ${table ?? node.text}`
  const noun = splitWords(node.text.replaceAll(/group by/gi, '')).find((word) => PRODUCT_NOUNS.includes(word))
  return noun ? `"${noun}" in the text "${node.text.slice(0, 40)}"` : undefined
}
