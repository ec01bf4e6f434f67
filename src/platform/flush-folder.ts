import fs from 'node:fs'

/** Flushes the names of the files in a folder to disk, such as a renamed one, which a power failure would undo otherwise. */
export function flushFolder(name: string): void {
  // Windows does not open folders.
  if (process.platform === 'win32') return
  const folder = fs.openSync(name, 'r')
  try {
    fs.fsyncSync(folder)
  } finally {
    fs.closeSync(folder)
  }
}
