import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { checkUrl } from '../../platform/outbound/check-url.ts'
import { OutboundError } from '../../platform/outbound/outbound-error.ts'
import { readBytes } from '../../platform/outbound/read-bytes.ts'
import type { FileDownload } from '../channel.ts'
import { parseProviderJson, text } from './provider-json.ts'
import type { WhatsappSettings } from './settings.ts'
import { toHexHash } from './webhook/parse-message.ts'

const Description = z.looseObject({ url: z.string().max(4096), mime_type: text, sha256: text })
const RESPONSE_BYTES_MAX = 64 * 1024

/** Hosts of the provider's files, which may receive the access token beside the host of the base URL. */
const FILE_HOST = /(?:^|\.)(?:fbsbx\.com|facebook\.com|fbcdn\.net|whatsapp\.net|whatsapp\.com)$/

type Call = WhatsappSettings & {
  accessToken: string
  agent: Dispatcher
  allowsLoopback: boolean
  signal: AbortSignal
}

/**
 * Opens a file of the Cloud API: asks for its address, which is valid for minutes, then opens that. Redirects are not
 * followed, and only public hosts are called.
 */
export async function downloadFile(providerMediaId: string, call: Call): Promise<FileDownload> {
  try {
    const { baseUrl, version } = call
    const described = await get(new URL(`${baseUrl}/${version}/${encodeURIComponent(providerMediaId)}`), call)
    const bytes = await readBytes(described.body, RESPONSE_BYTES_MAX)
    if (described.statusCode !== 200 || !bytes) return failed(described.statusCode)
    const { url, mime_type: mimeType = null, sha256 } = Description.parse(parseProviderJson(bytes))
    const response = await get(checkUrl(url, call), call)
    if (response.statusCode === 200) {
      const bytes = Number(response.headers['content-length'] ?? 0)
      return { stream: response.body, bytes, sha256: toHexHash(sha256), mimeType }
    }
    response.body.on('error', () => undefined).destroy()
    return failed(response.statusCode)
  } catch (error) {
    // Other texts may quote the request.
    if (error instanceof OutboundError) return { problem: error.message, isFinal: !error.retryable }
    return { problem: 'The file could not be fetched from the provider', isFinal: false }
  }
}

async function get(url: URL, { baseUrl, accessToken, agent, signal }: Call): Promise<Dispatcher.ResponseData> {
  const isTrusted =
    url.origin === new URL(baseUrl).origin || (url.protocol === 'https:' && FILE_HOST.test(url.hostname))
  return agent.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'GET',
    headers: { 'accept-encoding': 'identity', ...(isTrusted ? { authorization: `Bearer ${accessToken}` } : {}) },
    signal,
  })
}

/** The provider answers 400 and 404 for a file that it has deleted. */
function failed(status: number): FileDownload {
  return { problem: `The provider answered ${status} instead of the file`, isFinal: [400, 404, 410].includes(status) }
}
