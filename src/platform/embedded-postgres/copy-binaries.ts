import fs from 'node:fs'
import path from 'node:path'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'

/**
 * Copies the programs out of a folder that only root can enter, once per version, and answers with the copy. `/var/tmp`
 * outlives a restart and, unlike `/tmp` and `/dev/shm` in containers, allows programs to run.
 */
export function copyBinaries(native: string, parent = '/var/tmp'): string {
  const { name, version } = packageOf(native)
  const copy = path.join(parent, `parley-${path.basename(name)}-${version}`)
  if (fs.lstatSync(copy, { throwIfNoEntry: false })) {
    assertOurs(copy)
    if (isComplete(copy, native)) return copy
  }
  const fresh = fs.mkdtempSync(`${copy}.`)
  fs.cpSync(native, fresh, { recursive: true, verbatimSymlinks: true })
  fs.chmodSync(fresh, 0o755)
  replace(copy, fresh)
  assertOurs(copy)
  return copy
}

/** Anybody may have made a folder of that name in a folder that all can write to; what lies in it would run as ours. */
function assertOurs(copy: string): void {
  const { uid, mode } = fs.lstatSync(copy)
  const isDirectory = fs.lstatSync(copy).isDirectory()
  if (isDirectory && uid === process.getuid?.() && (mode & 0o022) === 0) return
  throw new EmbeddedPostgresError(
    `${copy} was made by another account or is open to others, so Parley does not run the PostgreSQL in it: ` +
      `delete it, or set PG_BIN_DIR or DATABASE_URL.`,
  )
}

/** Jobs that tidy `/var/tmp` delete single files nobody has used for weeks. */
function isComplete(copy: string, native: string): boolean {
  const list = (folder: string) => fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const present = new Set(list(copy))
  return list(native).every((name) => present.has(name))
}

/** The new folder comes whole or not at all. Whoever was faster made the same copy. */
function replace(copy: string, fresh: string): void {
  const old = `${fresh}.old`
  try {
    if (fs.existsSync(copy)) fs.renameSync(copy, old)
    fs.renameSync(fresh, copy)
  } catch (error) {
    if (errorCode(error) !== 'ENOTEMPTY' && errorCode(error) !== 'EEXIST') throw error
  } finally {
    for (const leftover of [fresh, old]) fs.rmSync(leftover, { recursive: true, force: true })
  }
}

function packageOf(native: string): { name: string; version: string } {
  return JSON.parse(fs.readFileSync(path.join(native, '..', 'package.json'), 'utf8'))
}
