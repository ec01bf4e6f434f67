import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { openDatabase, seedIfEmpty } from '../src/platform/database/database.ts'
import { systemClock } from '../src/platform/time.ts'
import { startTestApp, type TestApp } from './support/app.ts'
import { createTempDir } from './support/temp-dir.ts'

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

type Command = { line: string; output: string }

/** A command begins with `$ `; what follows, up to the next one, is what it prints. */
function commandsOf(text: string): Command[] {
  const sessions = [...text.matchAll(/```console\n([\s\S]*?)```/g)].map(([, session]) => session ?? '')
  return sessions.flatMap((session) =>
    session
      .split(/^\$ /m)
      .filter(Boolean)
      .map((part) => {
        const [line = '', ...output] = part.split('\n')
        return { line, output: output.join('\n').trim() }
      }),
  )
}

function patternOf(output: string): RegExp {
  const escaped = output.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(`^${escaped.replaceAll('…', '[^\\n]*?')}$`)
}

/** Not waited for in one piece: the app that answers lives in this process. */
function run(script: string, cwd: string): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)('bash', ['-c', script], { cwd })
}

describe('README.md', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp({}, systemClock)
    const db = openDatabase(app.databaseUrl)
    await seedIfEmpty(db)
    await db.destroy()
  })

  after(() => app.stop())

  it('shows a session whose every answer is the real one', async () => {
    const commands = commandsOf(README)
    expect(commands.length).to.be.greaterThan(8)
    const folder = createTempDir()
    const mark = '=== end of answer ==='
    const script = commands.map(({ line }) => `${line}\necho; echo '${mark}'`).join('\n')
    const { stdout, stderr } = await run(script.replaceAll('http://127.0.0.1:3000', app.url), folder.path)
    await folder.remove()
    const answers = stdout.split(mark).map((answer) => answer.trim())
    commands.forEach(({ line, output }, index) => {
      expect(answers[index], `${line}\n${stderr}`).to.match(patternOf(output))
    })
  })

  it('points only to files and folders that are there', () => {
    const named = [...README.matchAll(/`((?:src|test|bench|chaos|seeds|migrations)\/[^`<>]*)`/g)].map(
      ([, path]) => path ?? '',
    )
    expect(named.length).to.be.greaterThan(20)
    for (const path of named) expect(existsSync(new URL(`../${path}`, import.meta.url)), path).to.equal(true)
  })

  it('names every bench that there is', () => {
    const source = readFileSync(new URL('../bench/main.ts', import.meta.url), 'utf8')
    const names = [...source.matchAll(/^ {2}'?([a-z-]+)'?: bench[A-Z]/gm)].map(([, name]) => name)
    expect(names.length).to.be.greaterThan(5)
    for (const name of names) expect(README, String(name)).to.include(`| \`${name}\` `)
  })

  it('names every setting that there is', () => {
    const source = readFileSync(new URL('../src/config.ts', import.meta.url), 'utf8')
    const names = [...source.matchAll(/^ {2}([A-Z][A-Z_]+): /gm)].map(([, name]) => name)
    expect(names.length).to.be.greaterThan(8)
    for (const name of names) expect(README, String(name)).to.include(`\`${name}\``)
  })
})
