import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { MINUTE } from '../platform/time.ts'

/** Building takes a second on a free core. */
const BUILD_MAX_MS = 5 * MINUTE

/** In a compiled build, `npm run build` has put the files beside the programs. */
const COMPILED = new URL('../../console/', import.meta.url)
const SOURCE = new URL('../console/', import.meta.url)
const CLIENT = new URL('../../packages/client/src/', import.meta.url)

export type ConsoleFile = { path: string; file: string }

/**
 * Lists the files of the console with their paths below its address. From sources they are built first, once for each state
 * of the sources, and kept beside the installed packages.
 * @throws Error if Vite is not installed or fails
 */
export async function findConsoleFiles(): Promise<ConsoleFile[]> {
  const folder = import.meta.url.endsWith('.js') ? fileURLToPath(COMPILED) : await findBuild()
  return listFiles(folder)
}

async function findBuild(): Promise<string> {
  const vite = findVite()
  const cache = join(dirname(vite), '.cache', 'parley-console')
  const folder = join(cache, await hashSources())
  if (existsSync(join(folder, 'index.html'))) return folder
  const unfinished = `${folder}.${randomUUID()}`
  try {
    await buildConsole(unfinished)
    // Of several processes that build at once, the first one's files are used.
    await rename(unfinished, folder).catch(() => undefined)
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return folder
}

/** Builds the console into a folder, in a process of its own. */
export async function buildConsole(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const args = [join(findVite(), 'bin/vite.js'), 'build', fileURLToPath(SOURCE), '--outDir', folder, '--emptyOutDir']
  await promisify(execFile)(process.execPath, args, { timeout: BUILD_MAX_MS })
}

/** Returns the folder of the package. */
function findVite(): string {
  return dirname(createRequire(import.meta.url).resolve('vite/package.json'))
}

async function hashSources(): Promise<string> {
  const hash = createHash('sha256')
  for (const folder of [SOURCE, CLIENT]) {
    for (const { path, file } of await listFiles(fileURLToPath(folder))) hash.update(path).update(await readFile(file))
  }
  return hash.digest('base64url').slice(0, 22)
}

async function listFiles(folder: string): Promise<ConsoleFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({ path: relative(folder, file).replaceAll('\\', '/'), file }))
}
