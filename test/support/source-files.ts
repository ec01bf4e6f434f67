import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A text file of the project. `path` is relative to the project. */
export type TextFile = { path: string; text: string }

/** A TypeScript file, with the paths of the files it imports, type-only imports included. */
export type SourceFile = TextFile & { ast: ts.SourceFile; imports: string[] }

/** Reads the files of folders or single files; an absent one has none. */
export function readTextFiles(paths: string[], extension: string): TextFile[] {
  return paths.flatMap((start) => {
    const absolute = join(ROOT, start)
    if (!existsSync(absolute)) return []
    if (!statSync(absolute).isDirectory()) return [{ path: start, text: readFileSync(absolute, 'utf8') }]
    return readdirSync(absolute, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(extension))
      .sort()
      .map((path) => ({ path: join(start, path), text: readFileSync(join(absolute, path), 'utf8') }))
  })
}

export function readSourceFiles(paths: string[]): SourceFile[] {
  return [...readTextFiles(paths, '.ts'), ...readTextFiles(paths, '.tsx')].map(({ path, text }) => {
    const imports = ts
      .preProcessFile(text, true, true)
      .importedFiles.map(({ fileName }) => fileName)
      .filter((name) => name.startsWith('.'))
      .map((name) => relative(ROOT, join(ROOT, dirname(path), name)))
    return { path, text, imports, ast: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) }
  })
}

/** Calls `visit` for every node of a file. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node)
  ts.forEachChild(node, (child) => walk(child, visit))
}

export function at({ path, ast }: SourceFile, node: ts.Node): string {
  return `${path}:${ast.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
}

/** Splits an identifier, a path or a prose into lower-case words: `takeItems` and `take_items` are `take items`. */
export function splitWords(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
}
