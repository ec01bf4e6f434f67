import { dirname, join } from 'node:path'
import { expect } from 'chai'
import ts from 'typescript'
import packageJson from '../package.json' with { type: 'json' }
import clientJson from '../packages/client/package.json' with { type: 'json' }
import { listOperations } from '../src/http/rest.ts'
import { isTenantTable } from '../src/platform/database/statements/tables.ts'
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

const LINES_MAX = 300
const FUNCTION_LINES_MAX = 60
/** A file with fewer lines and one importer is a part of it. */
const SMALL_FILE_LINES = 40
/** A folder with fewer files and folders leads a reader to one place that the folder above could name. */
const FOLDER_ENTRIES_MIN = 3
const CASTS_MAX = 39

/*
 * Exceptions to the rules of size, each with its reason. One that the rule no longer concerns fails the test, so the lists
 * only shrink.
 */
const LONG_FILES: Record<string, string> = {
  'src/seed/tables.ts': 'the columns of all tables, which a test writes',
  'src/workflow-definition.ts': 'the types of all steps and triggers, which a test writes',
}
const LONG_FUNCTIONS: Record<string, string> = {}
const SMALL_FILES: Record<string, string> = {
  'src/engine/mailbox/human-takeover.ts': 'active-runs.ts would have more than 300 lines with it',
}
const SMALL_FOLDERS: Record<string, string> = {}

/** Files whose imports are entries of a list, each of which is a file of its own, however small. */
const REGISTRIES = /\/router\.ts$|^src\/(?:steps|conditions|triggers|channels)\/index\.ts$|^src\/http\/server\.ts$/

/** The folders each folder of `src` may import. Files at the top of `src` wire the parts and may import anything. */
const LAYERS: Record<string, string[]> = {
  http: ['http', 'router.ts', 'trpc', 'channels', 'scope', 'platform', 'error-codes'],
  features: [
    'features',
    'steps',
    'triggers',
    'conditions',
    'workflow-language.ts',
    'workflow-definition.ts',
    'trpc',
    'scope',
    'engine',
    'channels',
    'models',
    'message-content',
    'platform',
    'error-codes',
  ],
  // The pages are programs for browsers, which take only types from the server, through the client package.
  console: ['console'],
  cli: ['cli', 'main.ts', 'config.ts', 'describe-start-error.ts', 'dependencies.ts', 'features', 'scope', 'platform'],
  trpc: ['trpc', 'scope', 'platform', 'error-codes'],
  seed: ['seed', 'jobs.ts', 'workflow-definition.ts', 'features', 'engine', 'models', 'scope', 'platform'],
  steps: ['steps', 'conditions', 'engine', 'channels', 'message-content', 'platform'],
  triggers: ['triggers', 'conditions', 'engine', 'platform'],
  conditions: ['conditions', 'engine', 'platform'],
  engine: ['engine', 'platform'],
  channels: ['channels', 'message-content', 'platform'],
  'message-content': ['message-content', 'platform'],
  scope: ['scope', 'models', 'platform'],
  models: ['models', 'message-content', 'platform'],
  platform: ['platform', 'error-codes'],
  'error-codes': ['error-codes'],
}

const TOP_LEVEL_FILES: Record<string, string[]> = {
  'workflow-language.ts': ['steps', 'triggers', 'conditions', 'engine'],
  'compute-worker.ts': ['features', 'platform'],
  'router.ts': ['features', 'trpc'],
  'jobs.ts': ['features', 'engine', 'trpc', 'scope', 'platform'],
  'config.ts': ['platform'],
  'workflow-definition.ts': [],
}

/** The floors of the engine, the lowest first. A folder imports itself and lower floors. */
const ENGINE_FLOORS = [
  ['language'],
  ['model'],
  ['compile', 'redact'],
  ['decide'],
  ['replay'],
  ['mailbox'],
  ['simulate'],
]

/** Types that are terms of the engine as well, each with its meaning there. */
const ENGINE_TERMS: Record<string, string> = {
  event: 'the unit that a mailbox delivers to a run',
  loop: 'a frame that repeats its steps, and the root of its variables',
  branch: 'the way that a step record says it took',
}

/** Files that may use a word of the product in another sense. */
const OTHER_SENSES: Record<string, string> = { 'src/engine/language/liquid.ts': 'Liquid calls its statements tags' }

/** A file whose docstrings are descriptions of fields, as the documents have them. */
const FIELD_TEXTS = 'src/workflow-definition.ts'

/** Words of the product that the engine does not know. */
const PRODUCT_NOUNS = ['tag', 'tags', 'group', 'groups', 'channel', 'channels']

const sources = readSourceFiles(['src'])
const migrations = readTextFiles(['migrations'], '.ts')
const documents = readTextFiles(['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs'], '.md')
const client = readSourceFiles(['packages/client/src'])
const tools = readSourceFiles(['bench', 'chaos', 'fake-whatsapp', 'seeds'])
const tests = readSourceFiles(['test'])

/** `contacts` of `src/features/contacts/…`, `engine` of `src/engine/…`, `config.ts` of `src/config.ts`. */
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

describe('architecture: client', () => {
  it('only server.ts of the client imports the server, and only its types', () => {
    assertNone(
      client.flatMap((file) =>
        importLines(file, (target) => !target.startsWith('packages/') && file.path !== 'packages/client/src/server.ts'),
      ),
    )
    const server = client.find(({ path }) => path === 'packages/client/src/server.ts')
    expect(server && listLoaded(server)).to.deep.equal([])
  })

  it('the client imports no package but its peers', () => {
    const peers = Object.keys(clientJson.peerDependencies)
    const isPeer = (name: string) => peers.some((peer) => name === peer || name.startsWith(`${peer}/`))
    assertNone(
      client.flatMap(({ path, text }) =>
        ts
          .preProcessFile(text, true, true)
          .importedFiles.map(({ fileName }) => fileName)
          .filter((name) => !name.startsWith('.') && !isPeer(name))
          .map((name) => `${path}: imports ${name}`),
      ),
    )
  })

  it('the server imports nothing of the client', () => {
    assertNone(sources.flatMap((file) => importLines(file, (target) => target.startsWith('packages/'))))
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
      const [, api, segment] = path.split('/')
      const namespace = segment?.replace(/-[a-z]/g, ([, letter = '']) => letter.toUpperCase())
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

describe('architecture: cycles', () => {
  it('files import each other in one direction, type-only imports included', () => {
    assertNoCycle(listEdges((path) => path))
  })

  it('in each folder, the files and folders import each other in one direction', () => {
    for (const folder of new Set(sources.flatMap(({ path }) => listFolders(path)))) {
      const depth = folder.split('/').length
      assertNoCycle(
        listEdges((path) => (path.startsWith(`${folder}/`) ? path.split('/', depth + 1).join('/') : undefined)),
      )
    }
  })
})

describe('architecture: size', () => {
  it(`no file of src has more than ${LINES_MAX} lines`, () => {
    const long = sources.filter((file) => countLines(file) > LINES_MAX)
    assertOnly(LONG_FILES, new Map(long.map((file) => [file.path, `${countLines(file)} lines`])))
  })

  it(`no function of src has more than ${FUNCTION_LINES_MAX} lines`, () => {
    const long = new Map<string, string>()
    for (const file of sources) {
      walk(file.ast, (node) => {
        if (!ts.isFunctionLike(node)) return
        const [first = 0, last = 0] = [node.getStart(), node.getEnd()].map(
          (position) => file.ast.getLineAndCharacterOfPosition(position).line,
        )
        const lines = last - first + 1
        if (lines > FUNCTION_LINES_MAX) long.set(`${file.path} ${nameFunction(node)}`, `${lines} lines`)
      })
    }
    assertOnly(LONG_FUNCTIONS, long)
  })

  it(`a file of src with less than ${SMALL_FILE_LINES} lines has several importers, or none in its folder`, () => {
    const importers = new Map<string, Set<string>>()
    for (const { path, imports } of [...sources, ...tools])
      for (const target of imports) importers.set(target, (importers.get(target) ?? new Set()).add(path))
    const small = sources.flatMap((file): [string, string][] => {
      const [importer = '', ...others] = importers.get(file.path) ?? []
      const isPart = others.length === 0 && dirname(importer) === dirname(file.path) && !REGISTRIES.test(importer)
      return isPart && countLines(file) < SMALL_FILE_LINES ? [[file.path, `only ${importer} imports it`]] : []
    })
    assertOnly(SMALL_FILES, new Map(small))
  })

  it(`a folder of src has at least ${FOLDER_ENTRIES_MIN} files and folders`, () => {
    const entries = new Map<string, Set<string>>()
    for (const { path } of sources)
      for (const entry of [path, ...listFolders(path)])
        entries.set(dirname(entry), (entries.get(dirname(entry)) ?? new Set()).add(entry))
    entries.delete('.')
    const small = [...entries].filter(([, { size }]) => size < FOLDER_ENTRIES_MIN)
    assertOnly(SMALL_FOLDERS, new Map(small.map(([folder, { size }]) => [folder, `${size} files and folders`])))
  })
})

/** Libraries that few processes or requests need, with `import()`, so that the others start without them. */
const LOADED_WHEN_NEEDED = [
  '@modelcontextprotocol/server',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
  '@zxcvbn-ts/language-common',
  'file-type',
  'marked',
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

  it('the clock is read in src/platform/time.ts only, and that of browsers in src/console/kit/time.tsx', () => {
    const reads = listOutside('src/platform/time.ts', (node) => {
      if (ts.isNewExpression(node)) return node.expression.getText() === 'Date' && !node.arguments?.length
      return ts.isCallExpression(node) && node.expression.getText() === 'Date.now'
    })
    assertNone(reads.filter((violation) => !violation.startsWith('src/console/kit/time.tsx')))
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
        .filter(({ path }) => !/^src\/(?:platform|scope)\//.test(path))
        .flatMap((file) =>
          codeNodes(file, (node) => {
            if (!ts.isCallExpression(node)) return undefined
            const callee = node.expression.getText()
            return /\bdb\.raw$/.test(callee) ? `${callee} instead of scope.sql` : undefined
          }),
        ),
    )
  })

  it('features read the tables of all workspaces with statements that say so, not with system.db', () => {
    const features = sources.filter(({ path }) => path.startsWith('src/features/'))
    assertNone(
      features.flatMap((file) =>
        codeNodes(file, (node) => {
          if (!ts.isCallExpression(node) || !/^system\s*\.db$/.test(node.expression.getText())) return undefined
          const [table] = node.arguments
          return table && ts.isStringLiteral(table) && isTenantTable(table.text)
            ? `system.db('${table.text}')`
            : undefined
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
    assertNone([...sources, ...tools, ...client, ...migrations].flatMap(listBannedWords))
  })

  it('the documents use the terms of the glossary', () => {
    assertNone(documents.map(removeFormerNames).flatMap(listBannedWords))
  })

  it('the titles of tests use the terms of the glossary', () => {
    assertNone(tests.flatMap(listBannedTitles))
  })

  it('functions are named by a verb or a conversion', () => {
    assertNone([...sources, ...tools, ...client].flatMap(listBannedFunctionNames))
  })

  it('docstrings start with a verb or a noun phrase', () => {
    const written = sources.filter(({ path }) => path !== FIELD_TEXTS)
    assertNone([...written, ...tools, ...client, ...migrations, ...tests].flatMap(listBannedDocstrings))
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

/** Fails for violations without an exception, and for exceptions without a violation. */
function assertOnly(exceptions: Record<string, string>, violations: Map<string, string>): void {
  assertNone([
    ...[...violations].filter(([name]) => !Object.hasOwn(exceptions, name)).map((violation) => violation.join(': ')),
    ...Object.keys(exceptions)
      .filter((name) => !violations.has(name))
      .map((name) => `${name}: keeps the rule. Remove it from the exceptions`),
  ])
}

function countLines({ text }: SourceFile): number {
  return text.split('\n').length - 1
}

/** Lists the folders above a file, up to `src`. */
function listFolders(path: string): string[] {
  const folder = dirname(path)
  return folder === '.' ? [] : [folder, ...listFolders(folder)]
}

/** Returns the name of a function, or of the variable or property that it is the value of. */
function nameFunction(node: ts.SignatureDeclaration): string {
  const { parent } = node
  const isValue = ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)
  return (node.name ?? (isValue ? parent.name : undefined))?.getText() ?? 'without a name'
}

type Edges = Map<string, Map<string, string>>

/** Lists the imports between the parts of the source that `toPart` returns, each with the line of one of them. */
function listEdges(toPart: (path: string) => string | undefined): Edges {
  const edges: Edges = new Map()
  for (const file of sources) {
    const from = toPart(file.path)
    if (from === undefined) continue
    const targets = edges.get(from) ?? new Map<string, string>()
    edges.set(from, targets)
    for (const target of file.imports) {
      const to = toPart(target)
      if (to === undefined || to === from || targets.has(to)) continue
      targets.set(to, importLines(file, (name) => name === target)[0] ?? target)
    }
  }
  return edges
}

function assertNoCycle(edges: Edges): void {
  const cycle = findCycle(edges)
  if (cycle) expect.fail(`imports in a cycle:\n${cycle.join('\n')}`)
}

/** Returns the imports that make up a cycle, if there is one. */
function findCycle(edges: Edges): string[] | undefined {
  const done = new Set<string>()
  const search = (part: string, trail: string[], imports: string[]): string[] | undefined => {
    const start = trail.indexOf(part)
    if (start >= 0) return imports.slice(start)
    if (done.has(part)) return undefined
    for (const [target, line] of edges.get(part) ?? []) {
      const cycle = search(target, [...trail, part], [...imports, line])
      if (cycle) return cycle
    }
    done.add(part)
    return undefined
  }
  for (const part of edges.keys()) {
    const cycle = search(part, [], [])
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
