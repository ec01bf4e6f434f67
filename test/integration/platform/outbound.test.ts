import type { LookupAddress } from 'node:dns'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { fetchPublic, type PublicRequest } from '../../../src/platform/outbound/fetch-public.ts'
import { OutboundError } from '../../../src/platform/outbound/outbound-error.ts'
import { isSensitiveName } from '../../../src/platform/security/sensitive-name.ts'
import { urlError } from '../../../src/platform/outbound/check-url.ts'
import type { Resolve } from '../../../src/platform/outbound/public-agent.ts'

const PUBLIC = '203.0.114.10'

/** Spellings of addresses and names that are not public. */
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

const INVALID_URLS = [
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

describe('fetchPublic', () => {
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

  function fetchFrom(url: string, change: Partial<PublicRequest> = {}, resolve?: Resolve, signal?: AbortSignal) {
    const request = { method: 'GET', url, headers: {}, body: null, timeoutMs: 5000, bytesMax: 10_000 }
    return fetchPublic({ ...request, allowsLoopback: true, ...change }, signal, resolve)
  }

  async function outboundError(response: Promise<unknown>): Promise<OutboundError> {
    const error = await response.then(
      (result) => expect.fail(`returned ${JSON.stringify(result)}`),
      (reason: unknown) => reason,
    )
    if (error instanceof OutboundError) return error
    throw error
  }

  /** Creates a resolver that returns the given addresses, one list per lookup, and records the lookups. */
  function stubResolver(...results: string[][]) {
    const lookups: string[] = []
    const resolve: Resolve = async (hostname) => {
      const addresses = results[Math.min(lookups.length, results.length - 1)] ?? []
      lookups.push(hostname)
      return addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }))
    }
    return { resolve, lookups }
  }

  for (const url of PRIVATE_SPELLINGS) {
    it(`rejects the private URL ${url} with host_refused`, async () => {
      const error = await outboundError(fetchFrom(url, { allowsLoopback: false }))
      expect([error.code, error.retryable]).to.deep.equal(['host_refused', false])
      expect(urlError(url)?.code).to.equal('host_refused')
    })
  }

  for (const url of INVALID_URLS) {
    it(`rejects the invalid URL "${url}" with invalid_url`, async () => {
      expect((await outboundError(fetchFrom(url, { allowsLoopback: false }))).code).to.equal('invalid_url')
      expect(urlError(url)?.code).to.equal('invalid_url')
    })
  }

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
    it(`rejects a name that resolves to ${address} without exposing the address`, async () => {
      const error = await outboundError(
        fetchFrom('http://inside.example/', { allowsLoopback: false }, stubResolver([address]).resolve),
      )
      expect(error.code).to.equal('host_refused')
      expect(error.message).not.to.contain(address)
    })
  }

  it('rejects a name that resolves to a public and a private address', async () => {
    for (const records of [
      [PUBLIC, '10.0.0.8'],
      ['10.0.0.8', PUBLIC],
      ['2606:4700::1111', 'fd00::1'],
    ]) {
      const { resolve } = stubResolver(records)
      expect(
        (await outboundError(fetchFrom('http://mixed.example/', { allowsLoopback: false }, resolve))).code,
      ).to.equal('host_refused')
    }
  })

  it('connects to the address that was checked when DNS changes between lookups', async () => {
    const port = await serve((_, response) => response.end('inside'))
    const { resolve, lookups } = stubResolver(['127.0.0.1'], ['10.0.0.8'])
    const response = await fetchFrom(`http://rebinding.example:${port}/`, {}, resolve)
    expect([response.body, lookups.length]).to.deep.equal(['inside', 1])
    // The next connection is resolved and checked again.
    expect((await outboundError(fetchFrom(`http://rebinding.example:${port}/`, {}, resolve))).code).to.equal(
      'host_refused',
    )
  })

  it('sends method, headers and body and returns status, headers and body', async () => {
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
    const result = await fetchFrom(`http://localhost:${port}/a/b?c=d#e`, {
      method: 'PUT',
      headers: { 'X-Key': 'k' },
      body: 'ação',
    })
    expect([result.status, result.headers['set-cookie']]).to.deep.equal([201, 'a=1, b=2'])
    expect(JSON.parse(result.body)).to.deep.equal({ method: 'PUT', url: '/a/b?c=d', key: 'k', body: 'ação' })
  })

  it('ignores the proxy of the environment', async () => {
    const port = await serve((_, response) => response.end('direct'))
    const httpProxy = process.env['HTTP_PROXY']
    process.env['HTTP_PROXY'] = 'http://127.0.0.1:9'
    try {
      expect((await fetchFrom(`http://127.0.0.1:${port}/`)).body).to.equal('direct')
    } finally {
      if (httpProxy === undefined) delete process.env['HTTP_PROXY']
      else process.env['HTTP_PROXY'] = httpProxy
    }
  })

  it('decodes a response in its declared charset', async () => {
    const port = await serve((_, response) => {
      response.setHeader('content-type', 'text/plain; charset=ISO-8859-1')
      response.end(Buffer.from('São', 'latin1'))
    })
    expect((await fetchFrom(`http://127.0.0.1:${port}/`)).body).to.equal('São')
  })

  it('checks the target of every redirect', async () => {
    for (const location of [
      'http://10.0.0.8/',
      'http://0x0a000008/',
      '//169.254.169.254/',
      'http://intranet/',
      'http://[fd00::1]/',
    ]) {
      const port = await serve((_, response) => response.writeHead(302, { location }).end())
      expect((await outboundError(fetchFrom(`http://127.0.0.1:${port}/`))).code, location).to.equal('host_refused')
    }
    const port = await serve((_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end())
    expect((await outboundError(fetchFrom(`http://127.0.0.1:${port}/`))).code).to.equal('invalid_url')
  })

  it('checks the resolved addresses of a redirect target', async () => {
    const port = await serve((_, response) => response.writeHead(302, { location: 'http://inside.example/' }).end())
    const { resolve, lookups } = stubResolver(['10.0.0.8'])
    expect((await outboundError(fetchFrom(`http://127.0.0.1:${port}/`, {}, resolve))).code).to.equal('host_refused')
    expect(lookups).to.deep.equal(['inside.example'])
  })

  it('follows three redirects and rejects the fourth with too_many_redirects', async () => {
    const port = await serve((request, response) => {
      const remaining = Number(request.url?.slice(1))
      if (remaining === 0) response.end('there')
      else response.writeHead(307, { location: `/${remaining - 1}` }).end('elsewhere')
    })
    expect((await fetchFrom(`http://127.0.0.1:${port}/3`)).body).to.equal('there')
    expect((await outboundError(fetchFrom(`http://127.0.0.1:${port}/4`))).code).to.equal('too_many_redirects')
  })

  it('removes credentials and the idempotency key on a redirect to another origin', async () => {
    const receivedHeaders: Record<string, unknown>[] = []
    const recordHeaders: Handler = (request, response) => {
      receivedHeaders.push({ ...request.headers })
      response.end('there')
    }
    const other = await serve(recordHeaders)
    const first = await serve((request, response) =>
      request.url === '/same'
        ? recordHeaders(request, response)
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
    await fetchFrom(`http://127.0.0.1:${first}/stay`, { headers })
    await fetchFrom(`http://127.0.0.1:${first}/leave`, { headers })
    const names = Object.keys(secrets).map((name) => name.toLowerCase())
    expect(receivedHeaders[0]).to.include.keys(...names)
    expect(receivedHeaders[1]).not.to.have.any.keys(...names)
    expect(receivedHeaders.map((each) => each['x-trace'])).to.deep.equal(['kept', 'kept'])
  })

  it('follows a 307 redirect with its body on the same origin and without it to another origin', async () => {
    const bodies: string[] = []
    const recordBody: Handler = (request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        bodies.push(body)
        response.end('there')
      })
    }
    const other = await serve(recordBody)
    const first = await serve((request, response) => {
      if (request.url === '/same') return recordBody(request, response)
      const location = request.url === '/stay' ? '/same' : `http://127.0.0.1:${other}/`
      request.resume().on('end', () => response.writeHead(307, { location }).end())
    })
    for (const path of ['stay', 'leave']) {
      await fetchFrom(`http://127.0.0.1:${first}/${path}`, { method: 'POST', body: 'secret' })
    }
    expect(bodies).to.deep.equal(['secret', ''])
  })

  it('follows a 303 redirect with GET and without the body', async () => {
    const received: (string | undefined)[] = []
    const port = await serve((request, response) => {
      received.push(request.method, request.headers['content-type'])
      if (request.url === '/') response.writeHead(303, { location: '/other' }).end()
      else request.resume().on('end', () => response.end('there'))
    })
    await fetchFrom(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'words',
    })
    expect(received).to.deep.equal(['POST', 'text/plain', 'GET', undefined])
  })

  it('rejects a response over the size limit with answer_too_large without reading it to the end', async () => {
    const declared = await serve((_, response) => response.end('x'.repeat(10_001)))
    expect((await outboundError(fetchFrom(`http://127.0.0.1:${declared}/`))).code).to.equal('answer_too_large')
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
    expect((await outboundError(fetchFrom(`http://127.0.0.1:${endless}/`))).code).to.equal('answer_too_large')
    expect(sent).to.be.lessThan(100_000)
    const exact = await serve((_, response) => response.end('x'.repeat(10_000)))
    expect((await fetchFrom(`http://127.0.0.1:${exact}/`)).body).to.have.length(10_000)
  })

  it('rejects a compressed response with invalid_response', async () => {
    const port = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('…'))
    expect((await outboundError(fetchFrom(`http://127.0.0.1:${port}/`))).code).to.equal('invalid_response')
  })

  it('times out while waiting for the first byte, the last byte or the name lookup', async () => {
    const unresponsive = await serve(() => undefined)
    const incomplete = await serve((_, response) => response.write('a'))
    const unresolved: Resolve = () => new Promise(() => undefined)
    for (const [url, resolve] of [
      [`http://127.0.0.1:${unresponsive}/`],
      [`http://127.0.0.1:${incomplete}/`],
      ['http://slow.example/', unresolved],
    ] as [string, Resolve?][]) {
      const error = await outboundError(fetchFrom(url, { timeoutMs: 50 }, resolve))
      expect([error.code, error.retryable], url).to.deep.equal(['timed_out', true])
    }
  })

  it('rejects with the retryable error called_off when aborted', async () => {
    const controller = new AbortController()
    const port = await serve(() => controller.abort())
    const error = await outboundError(fetchFrom(`http://127.0.0.1:${port}/`, {}, undefined, controller.signal))
    expect([error.code, error.retryable]).to.deep.equal(['called_off', true])
  })

  it('rejects with the retryable error unreachable when the connection breaks', async () => {
    const port = await serve((request) => request.socket.destroy())
    const error = await outboundError(fetchFrom(`http://127.0.0.1:${port}/`))
    expect([error.code, error.retryable]).to.deep.equal(['unreachable', true])
    expect(error.message).not.to.contain('127.0.0.1')
  })

  it('rejects a header value with a line break with invalid_request', async () => {
    const port = await serve((_, response) => response.end('there'))
    const headers = { 'x-note': 'a\r\nx-forged: yes' }
    expect((await outboundError(fetchFrom(`http://127.0.0.1:${port}/`, { headers }))).code).to.equal('invalid_request')
  })
})

describe('urlError', () => {
  it('checks the part of a URL template before the first placeholder', () => {
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
})

describe('isSensitiveName', () => {
  it('recognizes names of secrets', () => {
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
