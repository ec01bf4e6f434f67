import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { type TempDir, createTempDir } from '../../support/temp-dir.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const run = promisify(execFile)

const PROGRAM = `
import { EventSource } from 'eventsource'
import { createParleyClient, defineWorkflow, type ErrorCode, isParleyError, type Step } from 'parley'

const [url = '', tenantId = '', cookie = ''] = process.argv.slice(2)
const parley = createParleyClient({ url, tenantId, headers: { cookie }, EventSource })

const contact = await parley.contacts.create.mutate({ name: 'Kim', phone: '+4915112340000' })
const first = await parley.sandbox.sendAsCustomer.mutate({ contactId: contact.id, body: 'one' })
const year: number = contact.createdAt.getUTCFullYear()

const received: string[] = []
await new Promise<void>((resolve, reject) => {
  const subscription = parley.conversations.follow.subscribe(
    { conversationId: first.conversationId },
    {
      onData: ({ data }) => {
        if (data.type === 'ready') void parley.sandbox.sendAsCustomer.mutate({ contactId: contact.id, body: 'two' })
        if (data.type !== 'message' || data.message.direction !== 'inbound') return
        received.push(data.message.body ?? '')
        if (data.message.body !== 'two') return
        subscription.unsubscribe()
        resolve()
      },
      onError: reject,
    },
  )
})

const answer: Step = { id: 'answer', type: 'send_message', message: { body: 'Pong' } }
const definition = defineWorkflow({ version: 1, triggers: [{ type: 'api' }], steps: [answer] })
const workflow = await parley.workflows.create.mutate({ name: 'Ping', definition })
const stepTypes = workflow.definition.steps.map(({ type }) => type)

const { messages } = await parley.conversations.listMessages.query({ conversationId: first.conversationId })
const error = await parley.runs.get.query({ runId: 'none' }).catch((thrown: unknown) => thrown)
if (!isParleyError(error)) throw error
const notFound: ErrorCode = 'not_found'
const errorMessage = error.data?.code === notFound ? \`\${error.message}: \${error.data.docUrl}\` : ''
console.log(JSON.stringify({ stepTypes, year, last: received.at(-1), messages: messages.map(({ body }) => body), errorMessage }))
process.exit(0)
`

const INVALID_PROGRAM = `
import { createParleyClient } from 'parley'
const parley = createParleyClient({ url: 'http://localhost' })
await parley.contacts.create.mutate({ name: 'Kim', fone: '+4915112340000' })
await parley.workflows.create.mutate({ name: 'Ping', definition: { version: 1, triggers: [{ type: 'ap' }], steps: [] } })
`

describe('npm package', function () {
  this.timeout(300_000)
  let app: TestApp
  let owner: TestSession
  let folder: TempDir

  before(async () => {
    app = await startTestApp({}, systemClock)
    owner = await app.signUp()
    folder = createTempDir()
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder.path], { cwd: ROOT })
    const tarball = stdout.trim().split('\n').at(-1) ?? ''
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>
    }
    const dependencies = { parley: `file:${tarball}`, eventsource: devDependencies['eventsource'] }
    // Types of transitive dependencies do not pass strict checks, so library checks are skipped.
    const compilerOptions = {
      strict: true,
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023', 'dom'],
      types: ['node'],
      skipLibCheck: true,
    }
    const typeRoots = [join(ROOT, 'node_modules/@types')]
    mkdirSync(join(folder.path, 'src'))
    const files = {
      'package.json': { name: 'consumer', private: true, type: 'module', dependencies },
      'tsconfig.json': {
        compilerOptions: { ...compilerOptions, typeRoots, rootDir: 'src', outDir: 'dist' },
        include: ['src/program.ts'],
      },
      'tsconfig.invalid.json': {
        compilerOptions: { ...compilerOptions, typeRoots, noEmit: true },
        include: ['src/invalid.ts'],
      },
    }
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder.path, name), JSON.stringify(content))
    writeFileSync(join(folder.path, 'src/program.ts'), PROGRAM)
    writeFileSync(join(folder.path, 'src/invalid.ts'), INVALID_PROGRAM)
    await run('npm', ['install', '--omit=optional', '--no-audit', '--no-fund', '--prefer-offline'], {
      cwd: folder.path,
    })
  })

  after(async () => {
    await app.stop()
    await folder.remove()
  })

  function compile(project: string): Promise<{ stdout: string }> {
    return run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project], { cwd: folder.path })
  }

  it('a project that installs the package compiles in strict mode, calls the API and subscribes to messages', async () => {
    await compile('tsconfig.json').catch((error: { stdout: string }) => expect.fail(error.stdout))
    const { stdout } = await run(process.execPath, ['dist/program.js', app.url, owner.tenantId, owner.cookie], {
      cwd: folder.path,
      timeout: 60_000,
    })
    const output = JSON.parse(stdout) as {
      stepTypes: string[]
      year: number
      last: string
      messages: string[]
      errorMessage: string
    }
    expect(output.last).to.equal('two')
    expect(output.stepTypes).to.deep.equal(['send_message'])
    expect(output.messages).to.deep.equal(['one', 'two'])
    expect(output.errorMessage).to.equal('Run not found: /docs/errors#not_found')
    expect(output.year).to.be.greaterThan(2025)
  })

  it('a project that passes an unknown field or trigger to the client does not compile', async () => {
    const errors = await compile('tsconfig.invalid.json').then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    )
    expect(errors).to.include("'fone' does not exist")
    expect(errors).to.include(`Type '"ap"' is not assignable`)
  })
})
