import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { expect } from 'chai'
import { compiledProgram } from '../../support/compiled-programs.ts'
import { testCluster } from '../../support/postgres.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'

const PASSWORD = 'xyzzy-secret'

/** The answer of a PostgreSQL server that rejects a connection. */
function errorResponse(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`)
  const header = Buffer.from('E\0\0\0\0')
  header.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([header, fields])
}

describe('a start with a mistake in DATABASE_URL', function () {
  this.timeout(120_000)
  let folder: TempDir
  let main: string
  let server: URL
  let fake: Server
  let answer: (socket: Socket) => void

  before(async () => {
    folder = createTempDir()
    main = await compiledProgram('src/main.ts')
    server = new URL((await testCluster()).appUrl)
    fake = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => answer(socket))
    })
    fake.listen(0, '127.0.0.1')
    await once(fake, 'listening')
  })

  after(async () => {
    fake.close()
    await folder.remove()
  })

  async function start(DATABASE_URL: string): Promise<{ code: number; stdout: string; stderr: string }> {
    const env = { ...process.env, PORT: '0', LOG_LEVEL: 'info', SECRET_KEY: 'ab'.repeat(32), DATABASE_URL }
    const child = spawn(process.execPath, [main], { cwd: folder.path, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const [code] = await once(child, 'close')
    return { code, stdout, stderr }
  }

  function urlWith(change: (url: URL) => void): string {
    const url = new URL(server)
    url.password = PASSWORD
    change(url)
    return url.href
  }

  function toFake(url: URL): void {
    const address = fake.address()
    url.port = typeof address === 'object' ? String(address?.port) : ''
  }

  async function expectSentence(url: string, sentence: RegExp): Promise<void> {
    const { code, stdout, stderr } = await start(url)
    expect(stderr).to.match(/^DATABASE_URL: [^\n]+\n$/)
    expect(stderr).to.match(sentence)
    expect(stderr).to.not.include(PASSWORD)
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
  }

  it('names a rejected password', () =>
    expectSentence(
      urlWith(() => undefined),
      /the server at 127\.0\.0\.1:\d+ rejected the user ".+" or the password\. Correct/,
    ))

  it('is named by the command that migrates the database, too', async () => {
    const knex = spawn('npm', ['run', '--silent', 'migrate'], {
      env: { ...process.env, SECRET_KEY: 'ab'.repeat(32), DATABASE_URL: urlWith((url) => (url.port = '1')) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let stderr = ''
    knex.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const [code] = await once(knex, 'close')
    expect(stderr).to.match(
      /^DATABASE_URL: no server accepts connections at 127\.0\.0\.1:1\. Start PostgreSQL[^\n]*\n$/m,
    )
    expect(stderr).to.not.include(PASSWORD)
    expect(code).to.equal(1)
  })

  it('names a missing password', () =>
    expectSentence(
      urlWith((url) => (url.password = '')),
      /requires a password for the user ".+"\. Add it/,
    ))

  it('names an unknown database', () =>
    expectSentence(
      urlWith((url) => {
        url.password = server.password
        url.pathname = '/no_such_database'
      }),
      /has no database "no_such_database"\. Create it/,
    ))

  it('names the address on which no server listens', () =>
    expectSentence(
      urlWith((url) => (url.port = '1')),
      /no server accepts connections at 127\.0\.0\.1:1\. Start PostgreSQL/,
    ))

  it('names what is wrong with each of several servers', () => {
    const { username, host } = server
    return expectSentence(
      `postgres://${username}:${PASSWORD}@127.0.0.1:1,${host}/parley?target_session_attrs=read-write`,
      /no server of the URL accepts changes: no server accepts connections at 127\.0\.0\.1:1\. .*; the server at 127\.0\.0\.1:\d+ rejected the user/,
    )
  })

  it('names an unknown host', () =>
    expectSentence(
      urlWith((url) => (url.hostname = 'db.invalid')),
      /the host of db\.invalid:\d+ is unknown\. Correct/,
    ))

  it('says that the server requires TLS', async () => {
    const message = 'no pg_hba.conf entry for host "10.0.0.9", user "parley", database "parley", no encryption'
    answer = (socket) => socket.end(errorResponse('28000', message))
    await expectSentence(urlWith(toFake), /does not accept the user ".+" without TLS\. Add \?sslmode=verify-full/)
  })

  it('says that the server does not support TLS', () =>
    expectSentence(
      urlWith((url) => (url.search = '?sslmode=verify-full')),
      /does not support TLS\. Remove sslmode/,
    ))

  it('says that the port belongs to another protocol', async () => {
    answer = (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    await expectSentence(urlWith(toFake), /closes the connection\. Check that the port in the URL/)
  })

  it('names a certificate file that cannot be read', () =>
    expectSentence(
      urlWith((url) => (url.search = '?sslmode=verify-full&sslrootcert=/no/such/ca.pem')),
      /the file \/no\/such\/ca\.pem, which the URL names, cannot be read \(ENOENT\)/,
    ))

  it('says that the user may not create tables', async () => {
    answer = (socket) => socket.end(errorResponse('42501', 'permission denied for schema public'))
    await expectSentence(urlWith(toFake), /may not create tables in the database ".+"\. Make it the owner/)
  })

  for (const [problem, url, sentence] of [
    ['an unencoded # in the password', `postgres://parley:${PASSWORD}#1@db/parley`, /Percent-encode/],
    ['an unencoded / in the password', `postgres://parley:1/${PASSWORD}@db/parley`, /Percent-encode/],
    ['another protocol', `mysql://parley:${PASSWORD}@db/parley`, /must start with postgres:\/\//],
    [
      'a wish for a standby',
      `postgres://parley:${PASSWORD}@db1:5432,db2:5432/parley?target_session_attrs=any`,
      /cannot have target_session_attrs=any, because Parley changes data\. Use target_session_attrs=read-write/,
    ],
    [
      'a mode of TLS that does not exist',
      `postgres://parley:${PASSWORD}@db/parley?sslmode=banana`,
      /cannot have sslmode=banana\. Use sslmode=verify-full, or sslmode=disable for a connection without TLS/,
    ],
    [
      'a host that is named twice',
      `postgres://parley:${PASSWORD}@db1:5432,db1:5432/parley`,
      /names the host db1:5432 twice\. Name each server once/,
    ],
    ['a missing host after a comma', `postgres://parley:${PASSWORD}@db1:5432,/parley`, /is not a valid URL/],
  ] as const) {
    it(`lists ${problem} among the invalid settings`, async () => {
      const { code, stdout, stderr } = await start(url)
      expect(stderr).to.match(/^The configuration is invalid:\n {2}- DATABASE_URL: [^\n]+\n$/)
      expect(stderr).to.match(sentence)
      expect(stderr).to.not.include(PASSWORD)
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    })
  }
})
