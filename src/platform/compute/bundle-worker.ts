import { createHash, randomUUID } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createFolder } from '../files/create-folder.ts'

const RESOLVING = Symbol('resolving')

/**
 * Bundles a worker's TypeScript into one file of JavaScript in a folder; compiled workers are returned as they are. A
 * loader of TypeScript in each thread keeps hundreds of descriptors open when the thread is terminated.
 */
export async function bundleWorker(source: URL, folder: string): Promise<URL> {
  if (!source.pathname.endsWith('.ts')) return source
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(source)],
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    // Imports for their effects are part of the program, whatever package.json says to the bundlers of its users.
    ignoreAnnotations: true,
    logLevel: 'silent',
    plugins: [
      {
        name: 'packages',
        setup: ({ onResolve, resolve }) =>
          // The bundle is outside the project, where no name of a package is found.
          onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData }) => {
            if (kind === 'entry-point' || pluginData === RESOLVING) return undefined
            const found = await resolve(path, { kind, resolveDir, pluginData: RESOLVING })
            return { path: found.external ? found.path : pathToFileURL(found.path).href, external: true }
          }),
      },
    ],
  })
  const contents = outputFiles.map(({ contents }) => contents)
  // Processes of the same code share the file, and those of other code in the same folder have their own.
  const hash = contents.reduce((sum, bytes) => sum.update(bytes), createHash('sha256')).digest('hex')
  const output = join(folder, `compute-worker-${hash.slice(0, 16)}.mjs`)
  await createFolder(folder, 0o700)
  const partial = `${output}.${randomUUID()}`
  await writeFile(partial, contents)
  await rename(partial, output)
  return pathToFileURL(output)
}
