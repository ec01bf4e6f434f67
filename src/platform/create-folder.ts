import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { getField } from './fields.ts'

/**
 * Creates a folder and the missing ones above it. Returns false if it exists. The recursive `mkdir` of Node never ends below
 * a folder in which none can be created, such as /proc: it takes the error for a missing parent.
 */
export async function createFolder(folder: string, mode = 0o777): Promise<boolean> {
  try {
    return await createOne(folder, mode)
  } catch (error) {
    const parent = dirname(folder)
    if (getField(error, 'code') !== 'ENOENT' || parent === folder) throw error
    await createFolder(parent, mode)
    return createOne(folder, mode)
  }
}

async function createOne(folder: string, mode: number): Promise<boolean> {
  try {
    await mkdir(folder, { mode })
    return true
  } catch (error) {
    const existing = await stat(folder).catch(() => undefined)
    if (existing?.isDirectory()) return false
    throw error
  }
}
