import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { SECOND } from '../../../platform/time.ts'
import type { OutboundFile, UploadResult } from '../../channel.ts'
import { callGraphApi } from '../post-message.ts'
import { classifyException, classifyFailure, type Failure, retryLater } from './send-message.ts'
import type { WhatsappSettings } from '../settings.ts'

const Uploaded = z.looseObject({ id: z.string().min(1).max(512) })
const RESPONSE_BYTES_MAX = 64 * 1024

type Call = WhatsappSettings & { accessToken: string; agent: Dispatcher; signal: AbortSignal }

/** Uploads a file to the Cloud API as a form. Only a part of the file is in memory at any time. */
export async function uploadFile(file: OutboundFile, call: Call): Promise<UploadResult> {
  const { baseUrl, version, phoneNumberId, accessToken, agent, signal } = call
  // An aborted upload destroys the stream, whose error says nothing more than the result.
  file.stream.on('error', () => undefined)
  try {
    const response = await callGraphApi({
      url: `${baseUrl}/${version}/${phoneNumberId}/media`,
      method: 'POST',
      accessToken,
      form: composeForm(file),
      agent,
      signal,
      bytesMax: RESPONSE_BYTES_MAX,
    })
    const uploaded = response.status < 300 ? Uploaded.safeParse(response.body).data : undefined
    return uploaded ? { kind: 'uploaded', providerMediaId: uploaded.id } : toResult(classifyFailure(response))
  } catch (error) {
    return toResult(classifyException(error))
  } finally {
    file.stream.destroy()
  }
}

/** An upload that may have succeeded is repeated: a copy that no message names is harmless. */
function toResult(failure: Failure): UploadResult {
  if (failure.kind !== 'unknown') return failure
  return retryLater('The file could not be uploaded to the Cloud API', { afterMs: 5 * SECOND, scope: 'recipient' })
}

function composeForm({ stream, mimeType, bytes }: OutboundFile): {
  contentType: string
  bytes: number
  body: Readable
} {
  const boundary = `parley-${randomUUID()}`
  const field = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  // A message names its document itself, so the name of the upload is never shown.
  const opening = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\nContent-Type: ${mimeType}\r\n\r\n`
  const head = Buffer.from(field('messaging_product', 'whatsapp') + field('type', mimeType) + opening)
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  async function* read(): AsyncGenerator<unknown> {
    yield head
    yield* stream
    yield tail
  }
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: head.length + bytes + tail.length,
    body: Readable.from(read(), { objectMode: false }),
  }
}
