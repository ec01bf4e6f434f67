import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { readDocument } from '../../support/documents.ts'
import { freePort } from '../../support/free-port.ts'
import { type TempDir, createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PACKAGES_MAX = 10
const run = promisify(execFile)

const PROGRAM = `
import { EventSource } from 'eventsource'
import {
  createParleyClient,
  defineWorkflow,
  type ErrorCode,
  isParleyError,
  type ParleyEvent,
  type ParleyWebhookEvent,
  ParleyTimeoutError,
  type RouterInputs,
  type RouterOutputs,
  type Step,
  verifyWebhook,
  WebhookVerificationError,
} from '@parley/client'

const [url = '', workspace = '', cookie = ''] = process.argv.slice(2)
const parley = createParleyClient({
  url,
  tenantId: () => workspace,
  headers: () => Promise.resolve({ cookie }),
  EventSource,
  timeoutMs: 20_000,
})

const answer: Step = { id: 'answer', type: 'send_message', message: { body: 'Pong, {{contact.name}}!' } }
const definition = defineWorkflow({
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['ping'] } }],
  steps: [answer],
})
const workflow = await parley.workflows.create.mutate({ name: 'Ping', definition })
const stepTypes = workflow.definition.steps.map(({ type }) => type)
await parley.workflows.publish.mutate({ workflowId: workflow.id })

const input: RouterInputs['contacts']['create'] = { name: 'Kim', phone: '+4915112340000' }
const contact: RouterOutputs['contacts']['create'] = await parley.contacts.create.mutate(input)
const year: number = contact.createdAt.getUTCFullYear()

function describe(event: ParleyEvent): string | null {
  switch (event.type) {
    case 'contact.updated':
      return event.data.changed.join()
    case 'message.received':
      return event.data.messageId
    default:
      return null
  }
}

export function toText(event: ParleyWebhookEvent): string | undefined {
  if (event.type === 'message.received') return event.resource?.body ?? event.data.conversationId
  if (event.type === 'workflow.published') return event.resource?.createdAt.toUpperCase()
  return event.payload ? 'custom' : undefined
}

const received: string[] = []
const answered = new Promise<void>((resolve, reject) => {
  const subscription = parley.events.follow.subscribe(undefined, {
    onData: ({ data }) => {
      if (data.type === 'ready') {
        void parley.sandbox.sendAsCustomer.mutate({ contactId: contact.id, body: 'ping' })
      } else if (data.type === 'event') {
        const messageId = describe(data.event)
        if (messageId !== null) received.push(messageId)
        if (data.event.type !== 'message.delivered') return
        subscription.unsubscribe()
        resolve()
      }
    },
    onError: reject,
  })
})
await answered
const { items } = await parley.conversations.list.query({ contactId: contact.id })
const { messages } = await parley.conversations.listMessages.query({ conversationId: items[0]?.id ?? '' })
const { since } = { since: new Date(Date.now() - 60_000) }
const audit = await parley.auditEvents.list.query({ since, action: 'contacts.create' })

const error = await parley.runs.get.query({ runId: 'none' }).catch((thrown: unknown) => thrown)
if (!isParleyError(error)) throw error
const notFound: ErrorCode = 'not_found'
const errorMessage = error.data?.code === notFound ? \`\${error.message}: \${error.data.docUrl}\` : ''

const refused = await verifyWebhook('{}', new Headers(), 'whsec_AAAA').catch((thrown: unknown) => thrown)
const problem = refused instanceof WebhookVerificationError ? refused.problem : ''

const late = await parley.tags.list.query(undefined, { context: { timeoutMs: 0 } }).catch((thrown: unknown) => thrown)
const isLate = isParleyError(late) && late.cause instanceof ParleyTimeoutError

const bodies = messages.map(({ body }) => body)
console.log(JSON.stringify({ stepTypes, year, received, bodies, audited: audit.total, errorMessage, problem, isLate }))
`

const INVALID_PROGRAM = `
import { createParleyClient, defineWorkflow } from '@parley/client'
const parley = createParleyClient({ url: 'http://localhost' })
await parley.contacts.create.mutate({ name: 'Kim', fone: '+4915112340000' })
await parley.workflows.create.mutate({ name: 'Ping', definition: { version: 1, triggers: [{ type: 'ap' }], steps: [] } })
defineWorkflow({ version: 1, steps: [{ id: 'answer', type: 'send_mesage', message: { body: 'Pong' } }] })
`

const LAYOUT = `
import type { ReactNode } from 'react'
export default function Layout({ children }: { children: ReactNode }) {
  return <html><body>{children}</body></html>
}
`

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023', 'dom'],
  types: ['node'],
  skipLibCheck: false,
}

/** A project with the packed client and nothing else. */
describe('the package @parley/client', function () {
  this.timeout(300_000)
  let app: TestApp
  let owner: TestSession
  let folder: TempDir

  before(async () => {
    app = await startTestApp({}, systemClock)
    owner = await app.signUp()
    folder = createTempDir()
    const pack = ['pack', '--silent', '--workspace', '@parley/client', '--pack-destination', folder.path]
    const { stdout } = await run('npm', pack, { cwd: ROOT, timeout: 240_000 })
    const tarball = stdout.trim().split('\n').at(-1) ?? ''
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>
    }
    const typeRoots = [join(ROOT, 'node_modules/@types')]
    const files = {
      'package.json': {
        name: 'consumer',
        private: true,
        type: 'module',
        dependencies: { '@parley/client': `file:${tarball}` },
      },
      'tsconfig.json': {
        compilerOptions: { ...compilerOptions, typeRoots, rootDir: 'src', outDir: 'dist' },
        include: ['src/program.ts'],
      },
      'tsconfig.invalid.json': {
        compilerOptions: { ...compilerOptions, typeRoots, noEmit: true },
        include: ['src/invalid.ts'],
      },
    }
    mkdirSync(join(folder.path, 'src'))
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder.path, name), JSON.stringify(content))
    writeFileSync(join(folder.path, 'src/program.ts'), PROGRAM)
    writeFileSync(join(folder.path, 'src/invalid.ts'), INVALID_PROGRAM)
    await install([])
    expect(listPackages().length, listPackages().join()).to.be.within(4, PACKAGES_MAX)
    await install([`eventsource@${devDependencies['eventsource'] ?? ''}`])
  })

  after(async () => {
    await app.stop()
    await folder.remove()
  })

  async function install(names: string[]): Promise<void> {
    const options = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']
    await run('npm', ['install', ...options, ...names], { cwd: folder.path, timeout: 120_000 })
  }

  /** Lists the packages that npm has installed on this platform. */
  function listPackages(): string[] {
    const lock = JSON.parse(readFileSync(join(folder.path, 'node_modules/.package-lock.json'), 'utf8')) as {
      packages: object
    }
    return Object.keys(lock.packages)
  }

  /**
   * Compiles a project and returns the errors. Those of one file of tRPC are left out: it names the types of `ws`, which only
   * servers install.
   */
  async function compile(project: string): Promise<string[]> {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout } = await run(process.execPath, [tsc, '-p', project], { cwd: folder.path }).catch(
      (error: { stdout: string }) => error,
    )
    const errors = stdout.split('\n').filter((line) => line.includes('error TS'))
    return errors.filter((line) => !line.startsWith('node_modules/@trpc/server/dist/ws-'))
  }

  it(`brings at most ${PACKAGES_MAX} packages, none of them of the server`, () => {
    const names = listPackages().map((path) => path.replace('node_modules/', ''))
    expect(names).to.include.members(['@parley/client', '@trpc/client', '@trpc/server', 'superjson'])
    expect(names).not.to.include.members(['koa', 'knex', 'zod'])
  })

  it('declares its types with its peers only', () => {
    const types = join(folder.path, 'node_modules/@parley/client/dist')
    const files = readdirSync(types).filter((name) => name.endsWith('.d.ts'))
    expect(files).to.have.members(['index.d.ts', 'react.d.ts', 'rest.d.ts'])
    const imported = files.flatMap((name) =>
      [...readFileSync(join(types, name), 'utf8').matchAll(/(?:from|import\()\s*['"]([^'"]+)/g)].map(
        ([, from]) => from,
      ),
    )
    const { peerDependencies } = JSON.parse(
      readFileSync(join(folder.path, 'node_modules/@parley/client/package.json'), 'utf8'),
    ) as { peerDependencies: object }
    expect([...Object.keys(peerDependencies), '@parley/client']).to.include.members([...new Set(imported)])
  })

  it('compiles strictly, the types of libraries included, and creates a workflow that answers a customer within 10 seconds', async () => {
    expect(await compile('tsconfig.json')).to.deep.equal([])
    const { stdout } = await run(process.execPath, ['dist/program.js', app.url, owner.tenantId, owner.cookie], {
      cwd: folder.path,
      timeout: 10_000,
    })
    const output = JSON.parse(stdout) as Record<string, unknown>
    expect(output).to.deep.include({
      bodies: ['ping', 'Pong, Kim!'],
      stepTypes: ['send_message'],
      audited: 1,
      errorMessage: 'Run not found: /docs/errors#not_found',
      problem: 'missing_header',
      isLate: true,
    })
    expect(output['received']).to.have.lengthOf(1)
    expect(output['year']).to.be.greaterThan(2025)
  })

  it('has an example and documented programs that compile', async () => {
    const project = join(folder.path, 'documents')
    mkdirSync(project)
    symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'))
    writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }))
    const options = {
      ...compilerOptions,
      skipLibCheck: true,
      noEmit: true,
      jsx: 'react-jsx',
      allowImportingTsExtensions: true,
    }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*'] }))
    cpSync(join(ROOT, 'packages/client/examples/conversations.tsx'), join(project, 'conversations.tsx'))
    const programs = ['docs/client.md', 'packages/client/README.md']
      .flatMap((path) => readDocument(path).blocks)
      .filter(({ language, notRun }) => language.startsWith('ts') && notRun === null)
    expect(programs.length).to.be.greaterThan(5)
    for (const [index, { language, text }] of programs.entries())
      writeFileSync(join(project, `program${index}.${language}`), text)
    expect(await compile('documents')).to.deep.equal([])
  })

  it('is used by the documented page of Next.js, with the cookie of the request', async () => {
    const page = readDocument('docs/client.md').blocks.find(({ text }) => text.includes("'next/headers'"))
    mkdirSync(join(folder.path, 'app'))
    writeFileSync(join(folder.path, 'app/page.tsx'), page?.text ?? '')
    writeFileSync(join(folder.path, 'app/layout.tsx'), LAYOUT)
    // Types are checked above.
    writeFileSync(join(folder.path, 'next.config.mjs'), 'export default { typescript: { ignoreBuildErrors: true } }')
    // The types are what Next.js installs by itself where it does not run in CI.
    const types = ['@types/react@19.3.3', '@types/node@20.19.43']
    await install(['next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1', ...types])
    const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', PARLEY_URL: app.url } as const
    const next = join(folder.path, 'node_modules/next/dist/bin/next')
    await run(process.execPath, [next, 'build'], { cwd: folder.path, env, timeout: 150_000 })
    const port = await freePort()
    const server = spawn(process.execPath, [next, 'start', '-p', String(port), '-H', '127.0.0.1'], {
      cwd: folder.path,
      env,
      stdio: 'ignore',
    })
    try {
      const headers = { cookie: `${owner.cookie}; workspace=${owner.tenantId}` }
      const read = () =>
        fetch(`http://127.0.0.1:${port}/`, { headers }).then(
          (response) => response.text(),
          () => '',
        )
      await waitUntil(async () => (await read()) !== '')
      expect(await read()).to.include('<p>Kim</p>')
    } finally {
      const exited = once(server, 'exit')
      server.kill()
      await exited
    }
  })

  it('does not compile with an unknown field, trigger or step', async () => {
    const errors = (await compile('tsconfig.invalid.json')).join('\n')
    expect(errors).to.include("'fone' does not exist")
    expect(errors).to.include(`Type '"ap"' is not assignable`)
    expect(errors).to.include(`Did you mean '"send_message"'?`)
  })
})
