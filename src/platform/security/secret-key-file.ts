import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder } from '../create-folder.ts'
import { getField } from '../fields.ts'
import { flushFolder } from '../flush-folder.ts'
import { ConfigError } from '../process/config-error.ts'

/** Keys of `Secrets`, in hexadecimal: the first one seals, and all open. */
export type SecretKeys = [string, ...string[]]

/** Reads the keys in `dataDir`, in the form of SECRET_KEYS, of which the first process creates one. During a rotation there are two. */
export async function loadOrCreateSecretKeys(dataDir: string): Promise<SecretKeys> {
  await createFolder(dataDir)
  try {
    await writeFile(toPath(dataDir), newKey(), { mode: 0o600, flag: 'wx', flush: true })
    flushFolder(dataDir)
  } catch (error) {
    if (getField(error, 'code') !== 'EEXIST') throw error
  }
  return readSecretKeys(dataDir)
}

/** Reads the keys in `dataDir`, whose file exists. @throws ConfigError */
export async function readSecretKeys(dataDir: string): Promise<SecretKeys> {
  const [first, ...others] = (await readFile(toPath(dataDir), 'utf8')).split(',').flatMap((key) => key.trim() || [])
  if (first === undefined || [first, ...others].some((key) => !/^[0-9a-f]{64}$/i.test(key)))
    throw new ConfigError([`${toPath(dataDir)}: must have keys of 64 hexadecimal digits, separated by commas`])
  return [first, ...others]
}

/** Adds a new key as the first one, unless an earlier call did so and the rotation was interrupted. */
export async function addSecretKey(dataDir: string): Promise<SecretKeys> {
  const keys = await loadOrCreateSecretKeys(dataDir)
  return keys.length > 1 ? keys : replaceKeys(dataDir, [newKey(), ...keys])
}

/** Removes all keys but the first one. */
export async function removeOldSecretKeys(dataDir: string): Promise<void> {
  const [first] = await loadOrCreateSecretKeys(dataDir)
  await replaceKeys(dataDir, [first])
}

/** The file is complete at any time, and of concurrent calls one is the last. */
async function replaceKeys(dataDir: string, keys: SecretKeys): Promise<SecretKeys> {
  const partial = `${toPath(dataDir)}.partial`
  await writeFile(partial, keys.join(','), { mode: 0o600, flush: true })
  await rename(partial, toPath(dataDir))
  // A rotation encrypts with the new key next.
  flushFolder(dataDir)
  return keys
}

function newKey(): string {
  return randomBytes(32).toString('hex')
}

function toPath(dataDir: string): string {
  return join(dataDir, 'secret-key')
}
