import { opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { getField } from '../get-field.ts'

/** Removes the files of a folder that were last changed before a time. A folder that does not exist has none. */
export async function removeOldFiles(folder: string, before: Date): Promise<void> {
  try {
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name)
      if (entry.isFile() && (await stat(path)).mtime < before) await rm(path, { force: true })
    }
  } catch (error) {
    // Another process may remove the same files.
    if (getField(error, 'code') !== 'ENOENT') throw error
  }
}
