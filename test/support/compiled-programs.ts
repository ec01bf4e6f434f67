import { join } from 'node:path'
import { after } from 'mocha'
import { compile } from '../../chaos/compile.ts'
import { createTempDir, type TempDir } from './temp-dir.ts'

const programs = new Map<string, { folder: TempDir; file: Promise<string> }>()

/** Compiles a program of the project once for all test files, and returns the path of its file. */
export function compiledProgram(entry: string): Promise<string> {
  const program = programs.get(entry) ?? start(entry)
  programs.set(entry, program)
  return program.file
}

function start(entry: string) {
  const folder = createTempDir()
  return { folder, file: compile(join(folder.path, 'parley'), entry) }
}

after('remove the compiled programs', async () => {
  for (const { folder } of programs.values()) await folder.remove()
})
