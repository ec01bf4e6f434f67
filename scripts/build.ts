import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Compiles src, migrations and seeds into the same layout below dist, without leftovers of earlier builds. */
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUTPUT = join(ROOT, 'dist')

rmSync(OUTPUT, { recursive: true, force: true })
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const { status } = spawnSync(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json')], { stdio: 'inherit' })
if (status === 0) writeFileSync(join(OUTPUT, 'main.js'), "import './src/main.js'\n")
process.exitCode = status ?? 1
