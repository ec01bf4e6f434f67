import fs from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { SECOND } from '../src/platform/time.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const FOLDERS = ['src', 'migrations', 'chaos']

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
}

/** Constants of the application that leases consist of, with their values for a lease of `leaseMs`. */
const LEASE_CONSTANTS: Record<string, (leaseMs: number) => number> = {
  UNKNOWN_AFTER_MS: (leaseMs) => leaseMs,
  LEASE_MS: (leaseMs) => leaseMs,
  // A call ends before its lease expires.
  EXECUTION_MS_MAX: (leaseMs) => leaseMs - 10 * SECOND,
}
const LEASE_CONSTANT = new RegExp(`^((?:export )?const (${Object.keys(LEASE_CONSTANTS).join('|')}) = ).*$`, 'gm')

/**
 * Transpiles the sources to JavaScript into a folder and returns the path of the entry file there. Processes then start
 * in a third of the time, and edits to the sources during the test have no effect on it. With `leaseMs` the leases get
 * another value.
 */
export function transpileSources(folder: string, entry: string, leaseMs?: number): string {
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  const replaced = new Set<string>()
  for (const name of FOLDERS.flatMap(listSources)) {
    const target = path.join(folder, name.replace(/\.ts$/, '.js'))
    fs.mkdirSync(path.dirname(target), { recursive: true })
    const source = fs.readFileSync(path.join(ROOT, name), 'utf8')
    const withLeases = source.replace(LEASE_CONSTANT, (line, start: string, constant: string) => {
      replaced.add(constant)
      return leaseMs === undefined ? line : `${start}${LEASE_CONSTANTS[constant]?.(leaseMs)}`
    })
    const { outputText } = ts.transpileModule(withLeases, {
      compilerOptions: OPTIONS,
      fileName: name,
    })
    fs.writeFileSync(target, outputText)
  }
  const missing = Object.keys(LEASE_CONSTANTS).filter((constant) => !replaced.has(constant))
  if (missing.length > 0) throw new Error(`No source file defines ${missing.join(', ')}. Update LEASE_CONSTANTS.`)
  return path.join(folder, entry.replace(/\.ts$/, '.js'))
}

function listSources(folder: string): string[] {
  return fs
    .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(folder, name))
}
