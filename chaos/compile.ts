import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { BUNDLE_OPTIONS } from '../src/platform/compute/bundle-worker.ts'

const ROOT = path.resolve(import.meta.dirname, '..')

/** Modules that the code finds by their files: each keeps its place. */
const FOUND_BY_FILE = ['src/compute-worker.ts', 'migrations/*.ts', 'seeds/*.ts']

/** Stands for `import.meta.url`: a module that is compiled into the file of another one has the URL of its own place. */
const MODULE_URL = 'ownModuleUrl'

/**
 * Compiles a program of the project into a new folder, and returns the path of its file there. A process of it starts in a
 * fifth of the CPU time, and edits to the sources meanwhile have no effect on it. `change` may change a source before.
 */
export async function compile(folder: string, entry: string, change = (source: string) => source): Promise<string> {
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  const toOutput = (file: string) => path.join(folder, path.relative(ROOT, file)).replace(/\.ts$/, '.js')
  await build({
    absWorkingDir: ROOT,
    entryPoints: [entry, ...FOUND_BY_FILE],
    outbase: ROOT,
    outdir: folder,
    ...BUNDLE_OPTIONS,
    splitting: true,
    packages: 'external',
    keepNames: true,
    logLevel: 'error',
    define: { 'import.meta.url': MODULE_URL },
    plugins: [
      {
        name: 'sources',
        setup: ({ onLoad }) => {
          onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
            // The line by which a shell finds the interpreter may only be the first one.
            const source = change(await fs.promises.readFile(file, 'utf8')).replace(/^#!.*/, '')
            const url = JSON.stringify(pathToFileURL(toOutput(file)).href)
            return { contents: `const ${MODULE_URL} = ${url}; ${source}`, loader: 'ts' }
          })
        },
      },
    ],
  })
  return toOutput(path.join(ROOT, entry))
}
