import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

const KEYS = { region: 'eu-central-1', accessKeyId: 'AKIATEST', secretAccessKey: 'test-secret' }

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest()

/** A local S3-compatible service with one bucket, which verifies signatures (Signature Version 4) and body hashes. */
export class FakeS3 {
  readonly objects = new Map<string, Buffer>()
  /** Number of requests with a wrong signature or hash. */
  rejected = 0
  /** True while writes fail for lack of space. */
  isFull = false
  /** True while files cannot be deleted. */
  refusesDeletes = false
  /** Number of reads that send half of a file: whether the connection is then cut, or nothing more comes. */
  halves = { cut: 0, stalled: 0 }
  readonly #server = createServer((request, response) => void this.#handle(request, response))

  static async start(): Promise<FakeS3> {
    const s3 = new FakeS3()
    s3.#server.listen(0, '127.0.0.1')
    await once(s3.#server, 'listening')
    return s3
  }

  /** Settings of the application. */
  get environment(): Record<string, string> {
    const address = this.#server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    return {
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_BUCKET: 'media',
      S3_REGION: KEYS.region,
      S3_ACCESS_KEY_ID: KEYS.accessKeyId,
      S3_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
    }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const respond = (status: number, content?: Buffer) => void response.writeHead(status).end(content)
    if (!isSigned(request) || request.headers['x-amz-content-sha256'] !== sha256(body)) {
      this.rejected += 1
      return respond(403)
    }
    const key = request.url ?? ''
    if (request.method === 'PUT') {
      if (this.isFull) return respond(507)
      this.objects.set(key, body)
      return respond(200)
    }
    if (request.method === 'DELETE' && this.refusesDeletes) return respond(503)
    if (request.method === 'DELETE') return respond(this.objects.delete(key) ? 204 : 404)
    const object = this.objects.get(key)
    if (!object) return respond(404)
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const status = start === undefined ? 200 : 206
    const content = start === undefined ? object : object.subarray(Number(start), Number(end) + 1)
    const how = (['cut', 'stalled'] as const).find((each) => this.halves[each] > 0)
    if (!how) return respond(status, content)
    this.halves[how] -= 1
    response.writeHead(status, { 'content-length': content.length })
    response.write(content.subarray(0, content.length / 2), () => void (how === 'cut' && response.destroy()))
  }
}

/** Computes the signature of a request as the specification says, and compares it with the one of the request. */
function isSigned({ method = '', url = '', headers }: IncomingMessage): boolean {
  const { authorization = '' } = headers
  const pattern = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const [, accessKeyId, scope = '', names = '', signature] = pattern.exec(authorization) ?? []
  const [day = '', region = '', service = '', end = ''] = scope.split('/')
  if (accessKeyId !== KEYS.accessKeyId || region !== KEYS.region || service !== 's3') return false
  const lines = names.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const hash = String(headers['x-amz-content-sha256'])
  const canonical = [method, url, '', lines.join(''), names, hash].join('\n')
  const text = ['AWS4-HMAC-SHA256', String(headers['x-amz-date']), scope, sha256(canonical)].join('\n')
  const key = [day, region, service, end].reduce<string | Buffer>(hmac, `AWS4${KEYS.secretAccessKey}`)
  return hmac(key, text).toString('hex') === signature && names.split(';').includes('x-amz-content-sha256')
}
