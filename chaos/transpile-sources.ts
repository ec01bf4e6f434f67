import fs from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

const ROOT = path.resolve(import.meta.dirname, '..')
const FOLDERS = ['src', 'migrations', 'chaos']

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
}

/**
 * Transpiles the sources to JavaScript into a folder and returns the path of the entry file there. Processes then start
 * in a third of the time, and edits to the sources during the test have no effect on it. `change` may change a source before.
 */
export function transpileSources(folder: string, entry: string, change = (source: string) => source): string {
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  for (const name of FOLDERS.flatMap(listSources)) {
    const target = path.join(folder, name.replace(/\.ts$/, '.js'))
    fs.mkdirSync(path.dirname(target), { recursive: true })
    const source = fs.readFileSync(path.join(ROOT, name), 'utf8')
    const { outputText } = ts.transpileModule(change(source), {
      compilerOptions: OPTIONS,
      fileName: name,
    })
    fs.writeFileSync(target, outputText)
  }
  return path.join(folder, entry.replace(/\.ts$/, '.js'))
}

function listSources(folder: string): string[] {
  return fs
    .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(folder, name))
}
