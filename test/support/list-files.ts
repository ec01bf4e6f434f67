import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Lists the names of the files in a folder and its subfolders; none if the folder does not exist. */
export async function listFiles(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}
