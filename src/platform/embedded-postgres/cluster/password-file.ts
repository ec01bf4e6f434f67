import { createHmac, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { type DataDirectory, giveToOwner } from './data-directory.ts'
import { EmbeddedPostgresError, errorCode } from '../embedded-postgres-error.ts'

/** On disk for good before the cluster that depends on it is made. */
export function writePasswordFile(folder: DataDirectory): void {
  fs.rmSync(folder.secret, { force: true })
  const file = fs.openSync(folder.secret, 'wx', 0o600)
  fs.writeSync(file, randomBytes(32).toString('base64url'))
  giveToOwner(folder, file)
  fs.fsyncSync(file)
  fs.closeSync(file)
}

/** Each account's password is derived, so that whoever learns the application's does not hold the administrator's. */
export function derivePassword(account: string, folder: DataDirectory): string {
  return createHmac('sha256', readSecret(folder)).update(account).digest('base64url')
}

function readSecret(folder: DataDirectory): string {
  try {
    return fs.readFileSync(folder.secret, 'utf8').trim()
  } catch (cause) {
    const advice =
      errorCode(cause) === 'ENOENT'
        ? `Put it back, or move ${folder.root} away to begin with an empty database.`
        : 'Start Parley as the account that owns it, or set DATA_DIR to another folder.'
    throw new EmbeddedPostgresError(
      `Without ${folder.secret} nobody can sign in to the database beside it. ${advice}`,
      { cause },
    )
  }
}
