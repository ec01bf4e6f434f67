import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher } from 'undici'
import { MINUTE, SECOND } from '../time.ts'
import { type ByteRange, FileMissingError, type FileStore } from './file-store.ts'

export type S3Settings = {
  /** Address of the service, without the bucket. */
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

type Call = {
  method: 'GET' | 'PUT' | 'DELETE'
  key: string
  headers?: Record<string, string>
  body?: Dispatcher.DispatchOptions['body']
  /** Time for the whole call, or until the response starts for one whose body is streamed to a client. */
  timeoutMs: number
}

/** SHA-256 of an empty body. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const PUT_TIMEOUT_MS = 2 * MINUTE
const CALL_TIMEOUT_MS = 20 * SECOND
/** The service must send some of a file in this time, unless nobody takes it. */
const IDLE_TIMEOUT_MS = 20 * SECOND

/** Keeps files in a bucket of an S3-compatible service, addressed by path. Requests are signed with their body's hash. */
export function s3Store({ endpoint, bucket, ...keys }: S3Settings, { idleMs = IDLE_TIMEOUT_MS } = {}): FileStore {
  const agent = new Agent({ connectTimeout: 10 * SECOND, headersTimeout: MINUTE, bodyTimeout: idleMs })

  async function call({ method, key, headers = {}, body = null, timeoutMs }: Call): Promise<Dispatcher.ResponseData> {
    const signer = new AwsV4Signer({
      ...keys,
      service: 's3',
      method,
      url: `${endpoint}/${bucket}/${key}`,
      headers: { 'x-amz-content-sha256': EMPTY_SHA256, ...headers },
    })
    const signed = await signer.sign()
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), timeoutMs)
    try {
      return await agent.request({
        origin: signed.url.origin,
        path: signed.url.pathname + signed.url.search,
        method,
        headers: Object.fromEntries(signed.headers),
        body,
        signal: controller.signal,
      })
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async put(key, path, { bytes, sha256 }) {
      const headers = { 'content-length': String(bytes), 'x-amz-content-sha256': sha256 }
      const body = createReadStream(path)
      await finish(await call({ method: 'PUT', key, headers, body, timeoutMs: PUT_TIMEOUT_MS }), key)
      await rm(path, { force: true })
    },
    async open(key, range) {
      const response = await call({ method: 'GET', key, headers: toRangeHeader(range), timeoutMs: CALL_TIMEOUT_MS })
      if (response.statusCode === 200 || response.statusCode === 206) return response.body
      await finish(response, key)
      throw new Error(`The file store answered ${response.statusCode} instead of a file`)
    },
    async delete(key) {
      const response = await call({ method: 'DELETE', key, timeoutMs: CALL_TIMEOUT_MS })
      if (response.statusCode === 404) await response.body.dump()
      else await finish(response, key)
    },
  }
}

function toRangeHeader(range: ByteRange | undefined): Record<string, string> {
  return range ? { range: `bytes=${range.start}-${range.end}` } : {}
}

/** Reads the rest of a response. @throws Error unless it reports success */
async function finish({ statusCode, body }: Dispatcher.ResponseData, key: string): Promise<void> {
  await body.dump()
  if (statusCode === 404) throw new FileMissingError(`There is no file ${key}`)
  if (statusCode < 200 || statusCode > 299) throw new Error(`The file store answered ${statusCode}`)
}
