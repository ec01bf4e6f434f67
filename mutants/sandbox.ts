import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'

/** Entries of the project that are large, or that only its own processes use. */
const LEFT_OUT = new Set(['.git', '.parley', 'dist', 'node_modules'])
const TIMEOUT_MS = 5 * 60_000

export type TestResult = { passed: boolean; seconds: number; output: string }

/** A copy of the project in which mutants are applied, so that the working tree stays as it is. */
export class Sandbox {
  readonly #path = mkdtempSync(join(tmpdir(), 'parley-mutants-'))

  constructor(root: string) {
    for (const entry of readdirSync(root)) {
      if (!LEFT_OUT.has(entry)) cpSync(join(root, entry), join(this.#path, entry), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(this.#path, 'node_modules'))
  }

  /** Returns the reason why the mutant cannot be applied. */
  findProblem({ file, original, mutated }: Mutant): string | undefined {
    const count = readFileSync(join(this.#path, file), 'utf8').split(original).length - 1
    if (count !== 1) return `the original text occurs ${count} times in ${file}`
    return original === mutated ? 'the mutant changes nothing' : undefined
  }

  /** Runs `work` while the mutant is applied. */
  async withMutant<T>({ file, original, mutated }: Mutant, work: () => Promise<T>): Promise<T> {
    const path = join(this.#path, file)
    const text = readFileSync(path, 'utf8')
    writeFileSync(
      path,
      text.replace(original, () => mutated),
    )
    try {
      return await work()
    } finally {
      writeFileSync(path, text)
    }
  }

  /** Runs test files until the first failure. Tests that do not end in time have failed. */
  async runTests(tests: string[]): Promise<TestResult> {
    const startMs = performance.now()
    const mocha = spawn(
      process.execPath,
      ['node_modules/mocha/bin/mocha.js', '--bail', ...tests.map((file) => `test/${file}`)],
      // A group of its own, so that the servers of the tests are killed with it.
      { cwd: this.#path, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
    )
    let output = ''
    for (const stream of [mocha.stdout, mocha.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4000)))
    }
    const timer = setTimeout(() => mocha.pid !== undefined && process.kill(-mocha.pid, 'SIGKILL'), TIMEOUT_MS)
    const [code] = await once(mocha, 'close')
    clearTimeout(timer)
    return { passed: code === 0, seconds: (performance.now() - startMs) / 1000, output }
  }

  remove(): void {
    rmSync(this.#path, { recursive: true, force: true })
  }
}
