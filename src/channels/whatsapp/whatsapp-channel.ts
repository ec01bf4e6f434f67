import type { Resolve } from '../../platform/outbound/public-agent.ts'
import type { Channel } from '../channel.ts'
import { markRead } from './sending/mark-read.ts'
import { uploadFile } from './sending/upload-file.ts'
import { parseWebhook } from './webhook/parse-webhook.ts'
import { verifyHandshake, verifySignature } from './webhook/verify-request.ts'
import { whatsappTemplates } from './message-templates.ts'
import { downloadFile } from './download-file.ts'
import { selectAgent } from './post-message.ts'
import { sendMessage, stopAtBaseUrl } from './sending/send-message.ts'
import { findBaseUrlProblem, WhatsappCredentials, WhatsappSettings } from './settings.ts'

export type WhatsappOptions = {
  allowsLoopback?: boolean
  timeoutMs?: number
  /** Resolves the host of the base URL; by default by DNS. */
  resolve?: Resolve
}

/** Creates the adapter of a WhatsApp business number on the Cloud API. */
export function whatsappChannel(settings: unknown, credentials: unknown, options: WhatsappOptions): Channel {
  const parsed = WhatsappSettings.parse(settings)
  const { verifyToken, appSecret, accessToken } = WhatsappCredentials.parse(credentials)
  const { allowsLoopback = false, timeoutMs, resolve } = options
  const urlProblem = findBaseUrlProblem(parsed, { allowsLoopback })
  const agent = selectAgent({ allowsLoopback, resolve })
  return {
    answerHandshake: (query) => verifyHandshake(query, verifyToken),
    hasValidSignature: (body, header) => verifySignature(body, header('x-hub-signature-256'), appSecret),
    parse: (body) => parseWebhook(body, parsed),
    templates:
      parsed.wabaId === null || urlProblem !== undefined
        ? null
        : whatsappTemplates({ ...parsed, wabaId: parsed.wabaId, accessToken, timeoutMs, agent }),
    download: async (providerMediaId, signal) =>
      urlProblem === undefined
        ? downloadFile(providerMediaId, { ...parsed, accessToken, agent, allowsLoopback, signal })
        : { problem: `The base URL ${urlProblem}`, isFinal: true },
    async upload(file, signal) {
      if (urlProblem === undefined) return uploadFile(file, { ...parsed, accessToken, agent, signal })
      file.stream.destroy()
      return stopAtBaseUrl(`The base URL ${urlProblem}`)
    },
    send: async (message, signal) =>
      urlProblem === undefined
        ? sendMessage(message, { ...parsed, accessToken, timeoutMs, signal, agent })
        : stopAtBaseUrl(`The base URL ${urlProblem}`),
    async markRead(providerMessageId, receipt) {
      if (urlProblem === undefined) await markRead(providerMessageId, receipt, { ...parsed, accessToken, agent })
    },
  }
}
