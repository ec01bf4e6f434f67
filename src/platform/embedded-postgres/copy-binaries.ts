import fs from 'node:fs'
import path from 'node:path'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'

/**
 * Copies the programs out of a folder that only root can enter, once per version, and returns the path of the copy.
 * `/var/tmp` survives a restart and, unlike `/tmp` and `/dev/shm` in containers, allows programs to run.
 */
export function copyBinaries(native: string, parent = '/var/tmp'): string {
  const { name, version } = readPackage(native)
  const copy = path.join(parent, `parley-${path.basename(name)}-${version}`)
  if (fs.lstatSync(copy, { throwIfNoEntry: false })) {
    assertOurs(copy)
    if (isComplete(copy, native)) return copy
  }
  const staging = fs.mkdtempSync(`${copy}.`)
  fs.cpSync(native, staging, { recursive: true, verbatimSymlinks: true })
  fs.chmodSync(staging, 0o755)
  replace(copy, staging)
  assertOurs(copy)
  return copy
}

/** Rejects a copy that another account may have created or changed, as everybody can write to the parent folder. */
function assertOurs(copy: string): void {
  const { uid, mode } = fs.lstatSync(copy)
  const isDirectory = fs.lstatSync(copy).isDirectory()
  if (isDirectory && uid === process.getuid?.() && (mode & 0o022) === 0) return
  throw new EmbeddedPostgresError(
    `${copy} belongs to another account or is writable by others, so Parley does not run the PostgreSQL in it. ` +
      `Delete it, or set PG_BIN_DIR or DATABASE_URL.`,
  )
}

/** Checks for missing files: cleaners of `/var/tmp` delete single files that were not used for weeks. */
function isComplete(copy: string, native: string): boolean {
  const list = (folder: string) => fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const present = new Set(list(copy))
  return list(native).every((name) => present.has(name))
}

/** Moves the new folder into place as a whole. If another process was faster, its copy is the same. */
function replace(copy: string, staging: string): void {
  const old = `${staging}.old`
  try {
    if (fs.existsSync(copy)) fs.renameSync(copy, old)
    fs.renameSync(staging, copy)
  } catch (error) {
    if (errorCode(error) !== 'ENOTEMPTY' && errorCode(error) !== 'EEXIST') throw error
  } finally {
    for (const leftover of [staging, old]) fs.rmSync(leftover, { recursive: true, force: true })
  }
}

function readPackage(native: string): { name: string; version: string } {
  return JSON.parse(fs.readFileSync(path.join(native, '..', 'package.json'), 'utf8'))
}
