import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generateDtsBundle } from 'dts-bundle-generator'
import { build } from 'esbuild'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import { buildOpenApi } from '../../../src/http/openapi/build-openapi.ts'
import { listOperations } from '../../../src/http/rest.ts'
import { appRouter } from '../../../src/router.ts'
import { printServerTypes } from './print-server-types.ts'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = join(PACKAGE, 'src')
const OUTPUT = join(PACKAGE, 'dist')
/** A copy of the source in which the types of the server are in plain form. */
const STAGE = join(PACKAGE, 'stage')
const ENTRIES = ['index.ts', 'rest.ts', 'react.tsx']
/** Files of the entry for React, which import the main entry as a package, so that its types and code exist once. */
const REACT_FILES = ['react.tsx', 'query-cache.ts', 'browser-stream.ts']
const PEERS = [
  '@parley/client',
  '@tanstack/react-query',
  '@trpc/client',
  '@trpc/server',
  '@trpc/tanstack-react-query',
  'openapi-fetch',
  'react',
  'superjson',
]
/** Examples of fields, which are half of the text. */
const EXAMPLE = /\n *\* @example[\s\S]*?(?=\n *\* @|\s*\*\/)|\/\*\* @example [^\n]*\*\/\n/g

for (const folder of [OUTPUT, STAGE]) rmSync(folder, { recursive: true, force: true })
mkdirSync(OUTPUT)
cpSync(SOURCE, STAGE, { recursive: true })
try {
  await writePlainTypes()
  writeDeclarations('index.ts', 'rest.ts')
  for (const name of REACT_FILES) importPackage(join(STAGE, name))
  writeReactDeclarations()
  await writePrograms()
} finally {
  rmSync(STAGE, { recursive: true, force: true })
}

async function writePlainTypes(): Promise<void> {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(PACKAGE, '../../tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    join(PACKAGE, '../..'),
  )
  writeFileSync(join(STAGE, 'server.ts'), printServerTypes(join(SOURCE, 'server.ts'), options, readSummaries()))
  const document = JSON.stringify(await buildOpenApi(appRouter))
  writeFileSync(join(STAGE, 'paths.ts'), astToString(await openapiTS(document)).replaceAll(EXAMPLE, ''))
}

/** Returns the summaries of the operations by the paths of their procedures. */
function readSummaries(): Map<string, string> {
  return new Map(
    listOperations(appRouter).map(({ procedurePath, meta }) => [procedurePath, meta.openapi?.summary ?? '']),
  )
}

function importPackage(file: string): void {
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll(/'\.\/(?:client|server)\.ts'/g, "'@parley/client'"))
}

/** Writes one declaration file for each entry. It names no package but the peers. */
function writeDeclarations(...entries: string[]): void {
  const bundles = generateDtsBundle(
    entries.map((entry) => ({
      filePath: join(STAGE, entry),
      libraries: { importedLibraries: PEERS },
      output: { noBanner: true, exportReferencedTypes: false },
    })),
    { preferredConfigPath: join(PACKAGE, 'tsconfig.json') },
  )
  for (const [index, entry] of entries.entries())
    writeFileSync(join(OUTPUT, entry.replace(/\.tsx?$/, '.d.ts')), bundles[index] ?? '')
}

/** Declares the entry for React by itself: it exports nothing of the other files. */
function writeReactDeclarations(): void {
  const { outputText, diagnostics = [] } = ts.transpileDeclaration(readFileSync(join(STAGE, 'react.tsx'), 'utf8'), {
    fileName: 'react.tsx',
    compilerOptions: { jsx: ts.JsxEmit.ReactJSX, declaration: true },
  })
  for (const { messageText } of diagnostics) throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'))
  writeFileSync(join(OUTPUT, 'react.d.ts'), outputText)
}

async function writePrograms(): Promise<void> {
  await build({
    entryPoints: ENTRIES.map((entry) => join(STAGE, entry)),
    outdir: OUTPUT,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    packages: 'external',
    legalComments: 'none',
  })
}
