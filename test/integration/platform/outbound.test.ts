import type { LookupAddress } from 'node:dns'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { fetchPublic, type PublicRequest } from '../../../src/platform/outbound/fetch-public.ts'
import { OutboundError } from '../../../src/platform/outbound/outbound-error.ts'
import { isSensitiveName } from '../../../src/platform/security/sensitive-name.ts'
import { urlError } from '../../../src/platform/outbound/check-url.ts'
import type { Resolve } from '../../../src/platform/outbound/resolve-name.ts'

const PUBLIC = '203.0.114.10'

/** Ways to write an address that is not public. */
const PRIVATE_SPELLINGS = [
  'http://127.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://2130706433/',
  'http://017700000001/',
  'http://0177.0.0.1/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://127.0.0.1./',
  'http://127。0。0。1/',
  'http://①②⑦.0.0.1/',
  'http://%31%32%37.0.0.1/',
  'http://0/',
  'http://0.0.0.0/',
  'http://10.0.0.8/',
  'http://172.16.0.1/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://2852039166/',
  'http://168.63.129.16/',
  'http://192.0.0.1/',
  'http://198.18.0.1/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:a00:8]/',
  'http://[0:0:0:0:0:ffff:169.254.169.254]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b:1::a00:8]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:7f00:1::]/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://app.localhost/',
  'http://metadata/',
  'http://printer.local/',
  'http://metadata.google.internal/',
  'http://metadata.google.internal./',
  'http://router.home.arpa/',
]

const UNUSABLE = [
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com/',
  'data:text/plain,hello',
  'http://user@example.com/',
  'http://user:secret@example.com/',
  'http://example.com:22/',
  'http://example.com:6379/',
  'example.com/path',
  'http://',
  '',
]

type Handler = (request: IncomingMessage, response: ServerResponse) => void

describe('a call to the outside', () => {
  const open: Server[] = []

  async function serve(handler: Handler): Promise<number> {
    const server = createServer(handler)
    open.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  afterEach(() => {
    for (const server of open.splice(0)) {
      server.close()
      server.closeAllConnections()
    }
  })

  function call(url: string, change: Partial<PublicRequest> = {}, resolve?: Resolve, signal?: AbortSignal) {
    const request = { method: 'GET', url, headers: {}, body: null, timeoutMs: 5000, bytesMax: 10_000 }
    return fetchPublic({ ...request, allowsLoopback: true, ...change }, signal, resolve)
  }

  async function refusal(calling: Promise<unknown>): Promise<OutboundError> {
    const error = await calling.then(
      (answer) => expect.fail(`was answered: ${JSON.stringify(answer)}`),
      (thrown: unknown) => thrown,
    )
    if (error instanceof OutboundError) return error
    throw error
  }

  /** A name server whose answers are given; it counts how often it was asked. */
  function nameServer(...answers: string[][]) {
    const asked: string[] = []
    const resolve: Resolve = async (hostname) => {
      const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? []
      asked.push(hostname)
      return addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }))
    }
    return { resolve, asked }
  }

  for (const url of PRIVATE_SPELLINGS) {
    it(`is not made to ${url}`, async () => {
      const error = await refusal(call(url, { allowsLoopback: false }))
      expect([error.code, error.retryable]).to.deep.equal(['host_refused', false])
      expect(urlError(url)?.code).to.equal('host_refused')
    })
  }

  for (const url of UNUSABLE) {
    it(`is not made to "${url}"`, async () => {
      expect((await refusal(call(url, { allowsLoopback: false }))).code).to.equal('invalid_url')
      expect(urlError(url)?.code).to.equal('invalid_url')
    })
  }

  it('is judged at publish by as much of the URL as is no placeholder', () => {
    expect(urlError('http://10.0.0.8/{{vars.path}}')?.code).to.equal('host_refused')
    expect(urlError('http:\\\\127.0.0.1\\{{vars.path}}')?.code).to.equal('host_refused')
    for (const url of [
      'https://api.example.com/v1?x={{vars.x}}',
      '{{vars.url}}',
      'https://{{vars.host}}/',
      'http://10.{{vars.rest}}/',
    ]) {
      expect(urlError(url), url).to.equal(undefined)
    }
  })

  for (const address of [
    '127.0.0.1',
    '10.0.0.8',
    '169.254.169.254',
    '::1',
    'fe80::1%eth0',
    '::ffff:10.0.0.8',
    '64:ff9b::a00:8',
    '2002:a00:8::',
    '::a00:8',
  ]) {
    it(`is not made to a name that leads to ${address}, and does not tell so`, async () => {
      const error = await refusal(
        call('http://inside.example/', { allowsLoopback: false }, nameServer([address]).resolve),
      )
      expect(error.code).to.equal('host_refused')
      expect(error.message).not.to.contain(address)
    })
  }

  it('is not made to a name of which one address is private', async () => {
    for (const records of [
      [PUBLIC, '10.0.0.8'],
      ['10.0.0.8', PUBLIC],
      ['2606:4700::1111', 'fd00::1'],
    ]) {
      const { resolve } = nameServer(records)
      expect((await refusal(call('http://mixed.example/', { allowsLoopback: false }, resolve))).code).to.equal(
        'host_refused',
      )
    }
  })

  it('connects to the very address that was judged, however often the name changes its mind', async () => {
    const port = await serve((_, response) => response.end('inside'))
    const { resolve, asked } = nameServer(['127.0.0.1'], ['10.0.0.8'])
    const answer = await call(`http://rebinding.example:${port}/`, {}, resolve)
    expect([answer.body, asked.length]).to.deep.equal(['inside', 1])
    // The next connection asks again, and is judged again.
    expect((await refusal(call(`http://rebinding.example:${port}/`, {}, resolve))).code).to.equal('host_refused')
  })

  it('sends what it was given and tells what it was answered', async () => {
    const port = await serve((request, response) => {
      const chunks: Buffer[] = []
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          response.writeHead(201, { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] })
          response.end(
            JSON.stringify({
              method: request.method,
              url: request.url,
              key: request.headers['x-key'],
              body: Buffer.concat(chunks).toString(),
            }),
          )
        })
    })
    const answer = await call(`http://localhost:${port}/a/b?c=d#e`, {
      method: 'PUT',
      headers: { 'X-Key': 'k' },
      body: 'ação',
    })
    expect([answer.status, answer.headers['set-cookie']]).to.deep.equal([201, 'a=1, b=2'])
    expect(JSON.parse(answer.body)).to.deep.equal({ method: 'PUT', url: '/a/b?c=d', key: 'k', body: 'ação' })
  })

  it('goes through no proxy that the environment names', async () => {
    const port = await serve((_, response) => response.end('direct'))
    const before = process.env['HTTP_PROXY']
    process.env['HTTP_PROXY'] = 'http://127.0.0.1:9'
    try {
      expect((await call(`http://127.0.0.1:${port}/`)).body).to.equal('direct')
    } finally {
      if (before === undefined) delete process.env['HTTP_PROXY']
      else process.env['HTTP_PROXY'] = before
    }
  })

  it('reads an answer in the charset that it names', async () => {
    const port = await serve((_, response) => {
      response.setHeader('content-type', 'text/plain; charset=ISO-8859-1')
      response.end(Buffer.from('São', 'latin1'))
    })
    expect((await call(`http://127.0.0.1:${port}/`)).body).to.equal('São')
  })

  it('vets every redirect like the first address', async () => {
    for (const location of [
      'http://10.0.0.8/',
      'http://0x0a000008/',
      '//169.254.169.254/',
      'http://intranet/',
      'http://[fd00::1]/',
    ]) {
      const port = await serve((_, response) => response.writeHead(302, { location }).end())
      expect((await refusal(call(`http://127.0.0.1:${port}/`))).code, location).to.equal('host_refused')
    }
    const port = await serve((_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end())
    expect((await refusal(call(`http://127.0.0.1:${port}/`))).code).to.equal('invalid_url')
  })

  it('looks up the names that redirects lead to under the same rules', async () => {
    const port = await serve((_, response) => response.writeHead(302, { location: 'http://inside.example/' }).end())
    const { resolve, asked } = nameServer(['10.0.0.8'])
    expect((await refusal(call(`http://127.0.0.1:${port}/`, {}, resolve))).code).to.equal('host_refused')
    expect(asked).to.deep.equal(['inside.example'])
  })

  it('follows three redirects and not a fourth', async () => {
    const port = await serve((request, response) => {
      const left = Number(request.url?.slice(1))
      if (left === 0) response.end('there')
      else response.writeHead(307, { location: `/${left - 1}` }).end('elsewhere')
    })
    expect((await call(`http://127.0.0.1:${port}/3`)).body).to.equal('there')
    expect((await refusal(call(`http://127.0.0.1:${port}/4`))).code).to.equal('too_many_redirects')
  })

  it('tells another origin no secret and no key that were meant for the first', async () => {
    const seen: Record<string, unknown>[] = []
    const note: Handler = (request, response) => {
      seen.push({ ...request.headers })
      response.end('there')
    }
    const other = await serve(note)
    const first = await serve((request, response) =>
      request.url === '/same'
        ? note(request, response)
        : response.writeHead(307, { location: request.url === '/stay' ? '/same' : `http://127.0.0.1:${other}/` }).end(),
    )
    const secrets = {
      Authorization: 'Bearer s',
      Cookie: 'a=b',
      'X-Api-Key': 'k',
      'Idempotency-Key': 'run:1',
      'X-Auth-Token': 't',
    }
    const headers = { ...secrets, 'X-Trace': 'kept' }
    await call(`http://127.0.0.1:${first}/stay`, { headers })
    await call(`http://127.0.0.1:${first}/leave`, { headers })
    const names = Object.keys(secrets).map((name) => name.toLowerCase())
    expect(seen[0]).to.include.keys(...names)
    expect(seen[1]).not.to.have.any.keys(...names)
    expect(seen.map((given) => given['x-trace'])).to.deep.equal(['kept', 'kept'])
  })

  it('fetches after a redirect that says "see other", without the body', async () => {
    const seen: (string | undefined)[] = []
    const port = await serve((request, response) => {
      seen.push(request.method, request.headers['content-type'])
      if (request.url === '/') response.writeHead(303, { location: '/other' }).end()
      else request.resume().on('end', () => response.end('there'))
    })
    await call(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'words',
    })
    expect(seen).to.deep.equal(['POST', 'text/plain', 'GET', undefined])
  })

  it('does not read more than it may', async () => {
    const declared = await serve((_, response) => response.end('x'.repeat(10_001)))
    expect((await refusal(call(`http://127.0.0.1:${declared}/`))).code).to.equal('answer_too_large')
    let sent = 0
    const endless = await serve((_, response) => {
      const more = () => {
        while (!response.destroyed) {
          sent += 1
          if (!response.write('x'.repeat(1000))) break
        }
      }
      response.on('drain', more).on('error', () => undefined)
      more()
    })
    expect((await refusal(call(`http://127.0.0.1:${endless}/`))).code).to.equal('answer_too_large')
    expect(sent).to.be.lessThan(100_000)
    const exact = await serve((_, response) => response.end('x'.repeat(10_000)))
    expect((await call(`http://127.0.0.1:${exact}/`)).body).to.have.length(10_000)
  })

  it('does not unpack, so a small answer cannot become a huge one', async () => {
    const port = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('…'))
    expect((await refusal(call(`http://127.0.0.1:${port}/`))).code).to.equal('invalid_response')
  })

  it('does not wait longer than it may: for the first byte, for the last, or for a name', async () => {
    const mute = await serve(() => undefined)
    const halting = await serve((_, response) => response.write('a'))
    const silent: Resolve = () => new Promise(() => undefined)
    for (const [url, resolve] of [
      [`http://127.0.0.1:${mute}/`],
      [`http://127.0.0.1:${halting}/`],
      ['http://slow.example/', silent],
    ] as [string, Resolve?][]) {
      const error = await refusal(call(url, { timeoutMs: 50 }, resolve))
      expect([error.code, error.retryable], url).to.deep.equal(['timed_out', true])
    }
  })

  it('ends when it is called off', async () => {
    const controller = new AbortController()
    const port = await serve(() => controller.abort())
    const error = await refusal(call(`http://127.0.0.1:${port}/`, {}, undefined, controller.signal))
    expect([error.code, error.retryable]).to.deep.equal(['called_off', true])
  })

  it('may be tried again when nobody answered', async () => {
    const port = await serve((request) => request.socket.destroy())
    const error = await refusal(call(`http://127.0.0.1:${port}/`))
    expect([error.code, error.retryable]).to.deep.equal(['unreachable', true])
    expect(error.message).not.to.contain('127.0.0.1')
  })

  it('carries no header that would break out of its line', async () => {
    const port = await serve((_, response) => response.end('there'))
    const headers = { 'x-note': 'a\r\nx-forged: yes' }
    expect((await refusal(call(`http://127.0.0.1:${port}/`, { headers }))).code).to.equal('invalid_request')
  })

  it('knows the names under which secrets stand', () => {
    for (const name of [
      'Authorization',
      'X-API-Key',
      'api_key',
      'clientSecret',
      'access-token',
      'Set-Cookie',
      'PASSWORD',
      'otp',
    ]) {
      expect(isSensitiveName(name), name).to.equal(true)
    }
    for (const name of ['author', 'opinion', 'max_tokens', 'pinned', 'content-type', 'keyword', 'city']) {
      expect(isSensitiveName(name), name).to.equal(false)
    }
  })
})
