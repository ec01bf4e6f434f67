import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../src/platform/time.ts'
import { type Call, invalid, type Reply, UNKNOWN_OBJECT } from './http.ts'
import { newObjectId } from './object-id.ts'

const URL_LIFETIME_MS = 5 * 60 * 1000
const SAMPLES_MAX = 1000

export type MediaFile = { id: string; bytes: Buffer; mimeType: string; sha256: string; filename: string | null }

/** Files of a business number: uploads of the application, and files that customers send. */
export class FakeMedia {
  readonly files = new Map<string, MediaFile>()
  /** Number of downloads, by ID of the file. */
  readonly downloads = new Map<string, number>()
  readonly #links = new Map<string, { id: string; untilMs: number }>()
  readonly #samples = new Map<string, string>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Stores a file and returns its description, as in the webhook of a message that has it. */
  add(
    bytes: Buffer,
    mimeType: string,
    filename: string | null = null,
  ): { id: string; mime_type: string; sha256: string } {
    const file = {
      id: newObjectId(),
      bytes,
      mimeType,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      filename,
    }
    this.files.set(file.id, file)
    return { id: file.id, mime_type: mimeType, sha256: file.sha256 }
  }

  /** Answers `POST /<phone number ID>/media`, a multipart form. */
  async upload({ bytes, headers }: Call): Promise<Reply> {
    const form = await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': String(headers['content-type']) },
    })
      .formData()
      .catch(() => undefined)
    const file = form?.get('file')
    if (form?.get('messaging_product') !== 'whatsapp') return { error: invalid('messaging_product must be whatsapp') }
    if (!(file instanceof File)) return { error: invalid('file is required') }
    const type = form.get('type')
    const mimeType = typeof type === 'string' && type !== '' ? type : file.type
    return { body: { id: this.add(Buffer.from(await file.arrayBuffer()), mimeType, file.name).id } }
  }

  /** Answers `GET /<media ID>`: the address of the file is valid for five minutes. */
  describe(id: string, baseUrl: string): Reply {
    const file = this.files.get(id)
    if (!file) return { error: UNKNOWN_OBJECT }
    const link = randomBytes(12).toString('hex')
    this.#links.set(link, { id, untilMs: this.#clock.now().getTime() + URL_LIFETIME_MS })
    const { mimeType, sha256, bytes } = file
    return {
      body: {
        messaging_product: 'whatsapp',
        url: `${baseUrl}/whatsapp_business/attachments/${link}`,
        mime_type: mimeType,
        sha256,
        file_size: bytes.length,
        id,
      },
    }
  }

  /** Answers a download by the address of a description. */
  download(link: string): Reply {
    const { id = '', untilMs = 0 } = this.#links.get(link) ?? {}
    const file = this.files.get(id)
    if (!file || this.#clock.now().getTime() > untilMs) return { error: { ...UNKNOWN_OBJECT, status: 404 } }
    this.downloads.set(id, (this.downloads.get(id) ?? 0) + 1)
    return { bytes: file.bytes, mimeType: file.mimeType }
  }

  delete(id: string): Reply {
    return this.files.delete(id) ? { body: { success: true } } : { error: UNKNOWN_OBJECT }
  }

  /** Answers `POST /<app ID>/uploads`, the first part of the upload of a sample file for a template. */
  startSample({ query }: Call): Reply {
    const type = query.get('file_type')
    if (!type || !/^\d+$/.test(query.get('file_length') ?? ''))
      return { error: invalid('file_length and file_type are required') }
    if (this.#samples.size >= SAMPLES_MAX) this.#samples.clear()
    const id = `upload:${randomBytes(12).toString('hex')}`
    this.#samples.set(id, type)
    return { body: { id } }
  }

  /** Answers `POST /upload:<ID>` with the handle of the sample, which the header of a template names. */
  finishSample(id: string): Reply {
    if (!this.#samples.has(id)) return { error: UNKNOWN_OBJECT }
    return { body: { h: `4:${Buffer.from(id).toString('base64url')}` } }
  }
}
