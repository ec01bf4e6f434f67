import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { ROOT } from '../../support/documents.ts'
import { freePort } from '../../support/free-port.ts'
import { say } from '../../support/steps.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const define = (body: string) => ({ version: 1, triggers: [{ type: 'manual' }], steps: [say('greet', body)] })
const expecting = (body: string) => [
  {
    name: 'Greets',
    dialogue: [{ type: 'advance', by: '10m' }],
    trigger: { type: 'manual' },
    expectation: { transcript: [{ from: 'workflow', body }] },
  },
]

type Result = { code: number; stdout: string; stderr: string }

describe('parley workflows', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let root: TempDir
  let apiKey: string
  let folders = 0

  before(async () => {
    app = await startTestApp({}, systemClock)
    workspace = await buildWorkspace(app)
    root = createTempDir()
    apiKey = (await workspace.call('POST', '/api/api-keys', { name: 'deployment', scopes: ['full'] })).key
  })

  after(async () => {
    await app.stop()
    await root.remove()
  })

  function makeFolder(files: Record<string, unknown>): string {
    const folder = join(root.path, `folder${(folders += 1)}`)
    mkdirSync(folder)
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
    }
    return folder
  }

  function parley(args: string[], env: Record<string, string> = {}): Promise<Result> {
    const program = ['--import', 'tsx', join(ROOT, 'src/cli/parley.ts'), ...args]
    const settings = { PARLEY_URL: app.url, PARLEY_API_KEY: apiKey, PARLEY_WORKSPACE: workspace.tenantId, ...env }
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        program,
        { cwd: ROOT, env: { ...process.env, ...settings } },
        (error, stdout, stderr) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
      )
    })
  }

  const find = async (key: string) => (await workspace.call('GET', `/api/workflows?key=${key}`)).items

  it('push stores files and their tests, publishes them, and changes nothing when it is repeated', async () => {
    const definition = define('Hi')
    const folder = makeFolder({
      'hello.json': { name: 'Hello', description: 'Greets', definition },
      'hello.tests.json': expecting('Hi'),
      'bare.ts': `export default ${JSON.stringify(definition)}`,
    })
    const first = await parley(['workflows', 'push', folder, '--publish'])
    expect(first.code, first.stderr).to.equal(0)
    expect(first.stdout).to.include(`${folder}/hello.json: created, 1 tests changed, published as version 1`)
    expect(first.stdout).to.include(`${folder}/bare.ts: created, published as version 1`)
    const again = await parley(['workflows', 'push', folder, '--publish'])
    expect(again.stdout).to.include(`${folder}/hello.json: unchanged, published before`)
    expect((await find('hello'))[0]).to.include({ name: 'Hello', version: 1, draftRevision: 1, status: 'published' })
    expect((await parley(['workflows', 'diff', folder])).code).to.equal(0)
  })

  const DIFFERENCE = 'test "Greets": Message 1: expected "Hello" from the workflow, got "Hi" from the workflow'

  it('push stores nothing if a test of a file or of the workspace fails, and exits with 1', async () => {
    const good = { 'good.json': { name: 'Good', definition: define('Hi') } }
    const wrong = makeFolder({
      ...good,
      'tested.json': { name: 'Tested', definition: define('Hi') },
      'tested.tests.json': expecting('Hello'),
    })
    const refused = await parley(['workflows', 'push', wrong, '--publish'])
    expect(refused.code).to.equal(1)
    expect(refused.stderr).to.equal(`${wrong}/tested.json: ${DIFFERENCE}\nNothing was changed.\n`)
    expect([...(await find('good')), ...(await find('tested'))]).to.deep.equal([])
    const tested = makeFolder({
      'tested.json': { name: 'Tested', definition: define('Hello') },
      'tested.tests.json': expecting('Hello'),
    })
    expect((await parley(['workflows', 'push', tested])).code).to.equal(0)
    const [stored] = await find('tested')
    const tests = await workspace.call('GET', `/api/workflows/${stored.id}/tests`)
    for (const files of [wrong, makeFolder({ ...good, 'tested.json': { name: 'New', definition: define('Hi') } })]) {
      const { code, stderr } = await parley(['workflows', 'push', files, '--publish'])
      expect([code, stderr]).to.deep.equal([1, `${files}/tested.json: ${DIFFERENCE}\nNothing was changed.\n`])
    }
    expect(await find('good')).to.deep.equal([])
    expect(await find('tested')).to.deep.equal([stored])
    expect(await workspace.call('GET', `/api/workflows/${stored.id}/tests`)).to.deep.equal(tests)
  })

  it('test runs the tests of the files with a key that can only read, and stores nothing', async () => {
    const key = await workspace.call('POST', '/api/api-keys', { name: 'checks', scopes: ['workflows:read'] })
    const env = { PARLEY_API_KEY: key.key }
    const passing = { 'fine.json': { name: 'Fine', definition: define('Hi') }, 'fine.tests.json': expecting('Hi') }
    const fine = makeFolder(passing)
    expect(await parley(['workflows', 'test', fine], env)).to.deep.equal({
      code: 0,
      stdout: `${fine}/fine.json: 1 tests passed\n`,
      stderr: '',
    })
    const mixed = makeFolder({
      ...passing,
      'problem.json': { name: 'Problem', definition: { ...define('Hi'), triggers: [{ type: 'ap' }] } },
      'problem.tests.json': expecting('Hi'),
      'wrong.json': { name: 'Wrong', definition: define('Hi') },
      'wrong.tests.json': [...expecting('Hello'), { ...expecting('Hi')[0], name: 'Greets well' }],
    })
    const { code, stdout } = await parley(['workflows', 'test', mixed], env)
    const lines = stdout.trimEnd().split('\n')
    expect(code).to.equal(1)
    expect(lines[0]).to.equal(`${mixed}/fine.json: 1 tests passed`)
    expect(lines[1]).to.include(`${mixed}/problem.json: triggers.0.type: `)
    expect(lines.slice(2)).to.deep.equal([`${mixed}/wrong.json: ${DIFFERENCE}`])
    expect([...(await find('fine')), ...(await find('wrong'))]).to.deep.equal([])
    expect((await parley(['workflows', 'push', fine], env)).code).to.equal(1)
  })

  it('test runs tests of more than 1 MB, and refuses more than a workflow may have and equal names', async () => {
    const test = { name: 'Test', dialogue: [{ type: 'message', body: 'a'.repeat(4096) }], expectation: {} }
    const many = (count: number, messages: number) =>
      Array.from({ length: count }, (_, index) => {
        const dialogue = Array.from({ length: messages }, () => test.dialogue[0])
        return { ...test, name: `Test ${index}`, dialogue }
      })
    for (const [tests, expected, part] of [
      [many(60, 6), 0, 'large.json: 60 tests passed'],
      [many(101, 1), 1, 'large.tests.json: it: '],
      [[test, test], 1, 'large.tests.json: it: has two tests with the same name'],
    ] as const) {
      const content = { name: 'Large', definition: define('Hi') }
      const folder = makeFolder({ 'large.json': content, 'large.tests.json': tests })
      const { code, stdout, stderr } = await parley(['workflows', 'test', folder])
      expect(code, stderr + stdout).to.equal(expected)
      expect(stderr + stdout).to.include(part)
    }
  })

  it('push changes nothing if a file has problems, is no JSON or has no safe name', async () => {
    const good = { 'good.json': { name: 'Good', definition: define('Hi') } }
    const mistaken = { ...define('Hi'), triggers: [{ type: 'ap' }] }
    for (const [name, content, problem] of [
      ['bad.json', { name: 'Bad', definition: mistaken }, 'bad.json: triggers.0.type: '],
      ['bad.json', '{ "name": ', 'bad.json: is not JSON'],
      ['Bad.json', good, 'Bad.json: the name of the file is no key'],
      ['bad.json', { title: 'Bad' }, 'bad.json: '],
      [
        'bad.json',
        { nmae: 'Bad', definition: define('Hi') },
        'bad.json: nmae is not a field of such a file. Did you mean name?',
      ],
    ] as const) {
      const { code, stderr } = await parley(['workflows', 'push', makeFolder({ ...good, [name]: content })])
      expect([code, await find('good')], stderr).to.deep.equal([1, []])
      expect(stderr).to.include(problem)
    }
  })

  it('diff shows the values that differ and exits with 1', async () => {
    const files = { 'changed.json': { name: 'Changed', definition: define('Hi') } }
    expect((await parley(['workflows', 'diff', makeFolder(files)])).stdout).to.include('+ new workflow')
    await parley(['workflows', 'push', makeFolder(files)])
    const folder = makeFolder({ 'changed.json': { name: 'Changed', definition: define('Hello') } })
    const { code, stdout } = await parley(['workflows', 'diff', folder])
    expect(code).to.equal(1)
    expect(stdout).to.include('- steps.0.message.body: "Hi"').and.to.include('+ steps.0.message.body: "Hello"')
  })

  it('pull writes files that a second pull and push do not change', async () => {
    const other = await buildWorkspace(app)
    const { key } = await other.call('POST', '/api/api-keys', { name: 'deployment', scopes: ['full'] })
    const env = { PARLEY_API_KEY: key, PARLEY_WORKSPACE: other.tenantId }
    const source = makeFolder({
      'pulled.json': { name: 'Pulled', definition: define('Hi') },
      'pulled.tests.json': expecting('Hi'),
    })
    await parley(['workflows', 'push', source], env)
    await other.call('POST', '/api/workflows', { name: 'Without a key' })
    const folder = join(root.path, 'pulled')
    expect((await parley(['workflows', 'pull', folder], env)).code).to.equal(0)
    const names = readdirSync(folder).sort()
    expect(names).to.deep.equal(['pulled.json', 'pulled.tests.json'])
    const texts = names.map((name) => readFileSync(join(folder, name), 'utf8'))
    expect((await parley(['workflows', 'pull', folder], env)).stdout).to.equal('pulled: unchanged\n')
    expect((await parley(['workflows', 'push', folder], env)).stdout).to.equal(`${folder}/pulled.json: unchanged\n`)
    expect(names.map((name) => readFileSync(join(folder, name), 'utf8'))).to.deep.equal(texts)
  })

  it('pull empties the file of tests that are deleted, and writes the others beside a key that no file can have', async () => {
    const other = await buildWorkspace(app)
    const { key } = await other.call('POST', '/api/api-keys', { name: 'deployment', scopes: ['full'] })
    const env = { PARLEY_API_KEY: key, PARLEY_WORKSPACE: other.tenantId }
    const folder = makeFolder({ 'a.json': { name: 'A', definition: define('Hi') }, 'a.tests.json': expecting('Hi') })
    await parley(['workflows', 'push', folder], env)
    const [{ id }] = (await other.call('GET', '/api/workflows?key=a')).items
    const [test] = (await other.call('GET', `/api/workflows/${id}/tests`)).items
    await other.call('DELETE', `/api/workflows/${id}/tests/${test.id}`)
    await other.call('POST', '/api/workflows', { name: 'Named as tests', key: 'a.tests' })
    const { code, stderr } = await parley(['workflows', 'pull', folder], env)
    expect([code, stderr]).to.deep.equal([1, '"a.tests" is no name of a file\nThe other workflows were written.\n'])
    expect(readFileSync(join(folder, 'a.tests.json'), 'utf8')).to.equal('[]\n')
    expect(JSON.parse(readFileSync(join(folder, 'a.json'), 'utf8')).name).to.equal('A')
  })

  /** Pulls from a server that is not Parley. */
  async function pullFrom(answer: RequestListener): Promise<Result & { folder: string }> {
    const server = createServer(answer).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const folder = join(root.path, `folder${(folders += 1)}`)
    const { port } = server.address() as AddressInfo
    try {
      return { folder, ...(await parley(['workflows', 'pull', folder, '--url', `http://127.0.0.1:${port}`])) }
    } finally {
      server.closeAllConnections()
      server.close()
    }
  }

  const JSON_HEADERS = { 'content-type': 'application/json' }

  it('exits with 1 and one line for a server whose answers never end, are cut off or are no JSON', async () => {
    const endless: RequestListener = (_, response) => {
      const chunk = Buffer.alloc(1024 ** 2, ' ')
      const write = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.writeHead(200, JSON_HEADERS).on('drain', write)
      write()
    }
    const servers: [problem: string, answer: RequestListener][] = [
      ['the answer has more than 64 MB', endless],
      ['the answer is no JSON', (_, response) => response.writeHead(200, JSON_HEADERS).end('{"items": [')],
      ['the answer is no JSON', (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
      ['does not answer', (_, response) => response.writeHead(200, JSON_HEADERS).write('{', () => response.destroy())],
      ['403', (_, response) => response.writeHead(403, JSON_HEADERS).end('{')],
    ]
    for (const [problem, answer] of servers) {
      const { code, stderr } = await pullFrom(answer)
      expect([code, stderr.split('\n').length], stderr).to.deep.equal([1, 2])
      expect(stderr).to.include(problem)
    }
  })

  it('writes no file outside of the folder, and no control characters to the terminal', async () => {
    const workflow = { id: 'x', key: '../outside\u001b[2J\u009b', status: 'draft', name: 'X', definition: {} }
    const { code, stdout, stderr } = await pullFrom(({ url }, response) => {
      const items = url?.endsWith('/workflows') === true ? [workflow] : []
      response.writeHead(200, JSON_HEADERS).end(JSON.stringify({ ...workflow, description: null, items }))
    })
    expect([code, stdout]).to.deep.equal([1, ''])
    expect(stderr).to.match(/^"\.\.\/outside[\x20-\x7e]*" is no name of a file\n/)
    expect(existsSync(join(root.path, 'outside.json'))).to.equal(false)
  })

  it('waits as long as the server asks for when the key has made too many calls', async () => {
    let calls = 0
    const { code, stderr } = await pullFrom((_, response) => {
      calls += 1
      if (calls === 1) response.writeHead(429, { ...JSON_HEADERS, 'retry-after': '1' }).end('{"error":"Too many"}')
      else response.writeHead(200, JSON_HEADERS).end('{"items":[]}')
    })
    expect([code, stderr, calls]).to.deep.equal([0, '', 2])
  })

  it('two pushes at once make one workflow', async () => {
    const folder = makeFolder({ 'race.json': { name: 'Race', definition: define('Hi') } })
    const results = await Promise.all([1, 2].map(() => parley(['workflows', 'push', folder, '--publish'])))
    expect(results.map(({ code, stderr }) => [code, stderr])).to.deep.equal([
      [0, ''],
      [0, ''],
    ])
    const items = await find('race')
    expect(items).to.have.length(1)
    expect(items[0].version).to.equal(1)
  })

  it('exits with 1 and one line for a wrong key, a dead server and a folder that does not exist', async () => {
    const folder = makeFolder({ 'a.json': { name: 'A', definition: define('Hi') } })
    const wrong = await parley(['workflows', 'push', folder], { PARLEY_API_KEY: 'prl_wrong' })
    expect([wrong.code, wrong.stderr.split('\n').length]).to.deep.equal([1, 2])
    expect(wrong.stderr).to.include('401')
    const dead = await parley(['workflows', 'push', folder, '--url', `http://127.0.0.1:${await freePort()}`])
    expect([dead.code, dead.stderr.split('\n').length]).to.deep.equal([1, 2])
    expect(dead.stderr).to.include('does not answer: ECONNREFUSED')
    const missing = await parley(['workflows', 'diff', join(root.path, 'missing')])
    expect([missing.code, missing.stderr]).to.deep.equal([1, `${root.path}/missing cannot be read: ENOENT\n`])
  })

  it('exits with 2 for mistakes in the arguments, and prints its usage with --help', async () => {
    for (const args of [['workflows'], ['workflows', 'push'], ['workflow'], ['workflows', 'test', 'x', '--publish']]) {
      expect((await parley(args)).code, args.join(' ')).to.equal(2)
    }
    expect((await parley(['workflows', 'push', 'x'], { PARLEY_API_KEY: '' })).code).to.equal(2)
    const { code, stdout } = await parley(['--help'])
    expect([code, stdout.split('\n')[0]]).to.deep.equal([0, 'Usage: parley start'])
  })
})
