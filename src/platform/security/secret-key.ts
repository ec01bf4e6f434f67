import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getField } from '../get-field.ts'

/** Reads the key in `dataDir`, which the first process creates. */
export async function loadOrCreateSecretKey(dataDir: string): Promise<string> {
  const path = join(dataDir, 'secret-key')
  await mkdir(dataDir, { recursive: true })
  try {
    await writeFile(path, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (getField(error, 'code') !== 'EEXIST') throw error
  }
  return (await readFile(path, 'utf8')).trim()
}
