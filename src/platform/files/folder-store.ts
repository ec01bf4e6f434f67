import { open, opendir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createFolder } from '../create-folder.ts'
import { getField } from '../fields.ts'
import { FileMissingError, type FileStore, FOLDER_MODE } from './file-store.ts'

/** Keeps files in a folder, which several processes may share. */
export function folderStore(folder: string): FileStore {
  const toPath = (key: string) => join(folder, ...key.split('/'))
  return {
    async put(key, path) {
      const target = toPath(key)
      await createFolder(dirname(target), FOLDER_MODE)
      await flush(path)
      // The temporary file is in the same file system, so the file appears as a whole.
      await rename(path, target)
    },
    async open(key, range) {
      try {
        const file = await open(toPath(key))
        return file.createReadStream(range)
      } catch (error) {
        if (getField(error, 'code') === 'ENOENT') throw new FileMissingError(`There is no file ${key}`)
        throw error
      }
    },
    delete: (key) => rm(toPath(key), { force: true }),
  }
}

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

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
