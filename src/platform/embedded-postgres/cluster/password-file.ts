import { createHmac, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { type DataDirectory, giveToOwner } from './data-directory.ts'
import { EmbeddedPostgresError, errorCode } from '../embedded-postgres-error.ts'

/** Creates the secret and flushes it to disk before the cluster that depends on it is created. */
export function writePasswordFile(folder: DataDirectory): void {
  fs.rmSync(folder.secret, { force: true })
  const file = fs.openSync(folder.secret, 'wx', 0o600)
  fs.writeSync(file, randomBytes(32).toString('base64url'))
  giveToOwner(folder, file)
  fs.fsyncSync(file)
  fs.closeSync(file)
}

/** Derives the password of an account, so that the application's password does not reveal the administrator's. */
export function derivePassword(account: string, folder: DataDirectory): string {
  return createHmac('sha256', readSecret(folder)).update(account).digest('base64url')
}

function readSecret(folder: DataDirectory): string {
  try {
    return fs.readFileSync(folder.secret, 'utf8').trim()
  } catch (cause) {
    const advice =
      errorCode(cause) === 'ENOENT'
        ? `Restore it, or move ${folder.root} away to start with an empty database.`
        : 'Start Parley as the account that owns it, or set DATA_DIR to another folder.'
    throw new EmbeddedPostgresError(
      `${folder.secret} cannot be read, and without it nothing can connect to the database beside it. ${advice}`,
      { cause },
    )
  }
}
