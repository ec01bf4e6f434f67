import { createHash, randomUUID } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createFolder } from '../create-folder.ts'

/** Options of esbuild for our own programs. */
export const BUNDLE_OPTIONS = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Imports for their effects are part of the program, whatever package.json says to the bundlers of its users.
  ignoreAnnotations: true,
} as const

/**
 * Writes a worker's TypeScript as one file of JavaScript into a folder; compiled workers are returned as they are. A
 * loader of TypeScript in each thread keeps hundreds of descriptors open when the thread is terminated.
 */
export async function bundleWorker(source: URL, folder: string): Promise<URL> {
  if (!source.pathname.endsWith('.ts')) return source
  const contents = await bundle(source)
  // Processes of the same code share the file, and those of other code in the same folder have their own.
  const hash = createHash('sha256').update(contents).digest('hex')
  const output = join(folder, `compute-worker-${hash.slice(0, 16)}.mjs`)
  await createFolder(folder, 0o700)
  const partial = `${output}.${randomUUID()}`
  await writeFile(partial, contents)
  await rename(partial, output)
  return pathToFileURL(output)
}

/** Bundles a module with all that it imports, packages included: a thread starts in a third of the time. */
export async function bundle(source: URL): Promise<string> {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(source)],
    write: false,
    ...BUNDLE_OPTIONS,
    logLevel: 'silent',
    // Packages in the format of CommonJS require modules of Node.js.
    banner: { js: "import { createRequire as bundled } from 'node:module'; const require = bundled(import.meta.url);" },
  })
  return outputFiles.map(({ text }) => text).join('')
}
