import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'

/** A command of a `console` block and the output that the document shows for it. */
export type Command = { line: string; output: string }

/** Splits a session at its prompts: a command starts with `$ ` and continues after a backslash at the end of a line. */
export function listCommands(session: string): Command[] {
  return session
    .split(/^\$ /m)
    .filter(Boolean)
    .map((part) => {
      const line = /^(?:.*\\\n)*.*/.exec(part)?.[0] ?? ''
      return { line, output: part.slice(line.length).trim() }
    })
}

const END = '=== end of output ==='
const PATIENCE_MS = 10_000
const PAUSE_MS = 250

/**
 * Runs the commands of a document in one shell and compares what they print. In an expected output, `…` stands for
 * omitted text within a line, and `<name>` for a value which later commands use under that name. A command that only
 * reads is repeated for a while when its output differs: a reader types slower than the worker works.
 */
export class ShellSession {
  readonly #shell: ReturnType<typeof spawn>
  readonly #replacements: [from: string, to: string][]
  readonly #names = new Map<string, string>()
  #stdout = ''
  #stderr = ''

  constructor(options: { cwd: string; env?: Record<string, string>; replacements?: [from: string, to: string][] }) {
    this.#replacements = options.replacements ?? []
    const env = { ...process.env, ...options.env }
    this.#shell = spawn('bash', { cwd: options.cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#shell.stdout?.on('data', (chunk: Buffer) => (this.#stdout += chunk.toString()))
    this.#shell.stderr?.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()))
  }

  async run({ line, output }: Command): Promise<void> {
    const isRead = !/ (?:-d|--data|--data-binary|--json|-X|-c) /.test(line)
    const patience = performance.now() + (isRead ? PATIENCE_MS : 0)
    for (;;) {
      const printed = await this.#print(line)
      const values = matchOutput(output, printed, this.#names)
      if (values) return values.forEach((value, name) => this.#names.set(name, value))
      if (performance.now() >= patience) expect(printed, `${line}\n${this.#stderr}`).to.equal(output)
      await delay(PAUSE_MS)
    }
  }

  async close(): Promise<void> {
    this.#shell.stdin?.end()
    if (this.#shell.exitCode === null) await once(this.#shell, 'exit')
  }

  async #print(line: string): Promise<string> {
    const named = line.replaceAll(/<(\w+)>/g, (_, name: string) => {
      const value = this.#names.get(name)
      if (value === undefined) throw new Error(`no output above "${line}" shows <${name}>`)
      return value
    })
    const script = this.#replacements.reduce((text, [from, to]) => text.replaceAll(from, to), named)
    this.#stdout = this.#stderr = ''
    this.#shell.stdin?.write(`${script}\necho; echo '${END}'\n`)
    while (!this.#stdout.includes(END)) {
      if (this.#shell.exitCode !== null) throw new Error(`the shell ended at "${line}"\n${this.#stderr}`)
      await delay(5)
    }
    const printed = this.#stdout.slice(0, this.#stdout.indexOf(END)).trim()
    return this.#replacements.reduce((text, [from, to]) => text.replaceAll(to, from), printed)
  }
}

/** The values of the names in `expected`, or undefined if `printed` differs from it. */
export function matchOutput(
  expected: string,
  printed: string,
  known: ReadonlyMap<string, string> = new Map(),
): Map<string, string> | undefined {
  const values = new Map<string, string>()
  const parts = expected.split('…')
  let position = 0
  for (const [index, part] of parts.entries()) {
    const pattern = new RegExp(
      toPattern(part, { isFirst: index === 0, isLast: index === parts.length - 1, known }),
      'g',
    )
    pattern.lastIndex = position
    const match = pattern.exec(printed)
    if (!match || printed.slice(position, match.index).includes('\n')) return undefined
    for (const [name, value] of Object.entries(match.groups ?? {})) values.set(name, value)
    position = pattern.lastIndex
  }
  return values
}

type Part = { isFirst: boolean; isLast: boolean; known: ReadonlyMap<string, string> }

function toPattern(part: string, { isFirst, isLast, known }: Part): string {
  const literal = part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  const named = literal.replaceAll(/<(\w+)>/g, (_, name: string) => known.get(name) ?? `(?<${name}>[\\w.:/?=&+-]+)`)
  return `${isFirst ? '^' : ''}${named}${isLast ? '$' : ''}`
}
