import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole } from '../src/http/console-files.ts'
import { bundleScript, SCRIPTS, STYLE_FILE } from '../src/http/docs/assets.ts'
import { bundle } from '../src/platform/compute/bundle-worker.ts'
import { readCommand } from '../src/platform/process/read-command.ts'

readCommand(`Usage: npm run build
Compiles src, migrations and seeds into the same layout below dist, with the documents and the console, without leftovers of earlier builds.`)

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUTPUT = join(ROOT, 'dist')

rmSync(OUTPUT, { recursive: true, force: true })
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const { status } = spawnSync(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json')], { stdio: 'inherit' })
/** Newer versions of Node keep compiled code between starts; not in the folder of temporary files, which others may write. */
const MAIN = `import module from 'node:module'
import { fileURLToPath } from 'node:url'
module.enableCompileCache?.(fileURLToPath(new URL('.compile-cache', import.meta.url)))
await import('./src/main.js')
`
if (status === 0) {
  writeFileSync(join(OUTPUT, 'main.js'), MAIN)
  const worker = await bundle(new URL('../src/compute-worker.ts', import.meta.url))
  writeFileSync(join(OUTPUT, 'src/compute-worker.js'), worker)
  const pages = 'src/http/docs/browser'
  mkdirSync(join(OUTPUT, pages), { recursive: true })
  for (const name of SCRIPTS) {
    writeFileSync(
      join(OUTPUT, pages, `${name}.js`),
      await bundleScript(new URL(`../${pages}/${name}.ts`, import.meta.url)),
    )
  }
  for (const path of [`${pages}/${STYLE_FILE}`, 'docs'])
    cpSync(join(ROOT, path), join(OUTPUT, path), { recursive: true })
  await buildConsole(join(OUTPUT, 'console'))
}
process.exitCode = status ?? 1
