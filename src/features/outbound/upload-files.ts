import type { SendResult, UploadResult } from '../../channels/channel.ts'
import { findFile } from '../../message-content/content.ts'
import { Media as MediaRow } from '../../models/messaging.ts'
import { FairSemaphore } from '../../platform/concurrency/fair-semaphore.ts'
import { FileMissingError } from '../../platform/files/file-store.ts'
import { addMs, DAY, MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { LoadedChannel } from '../channels/load-channel.ts'
import { toStoreKey } from '../media/media-writes.ts'
import type { ClaimedMessage, Delivery } from './claim-messages.ts'

/** Time for all uploads of a batch. With the send that follows, it is well below that of a claim. */
const UPLOADS_MAX_MS = MINUTE
const CONCURRENT_MAX = 4
/** The provider keeps a file for 30 days. */
const COPY_LIFETIME_MS = 25 * DAY

/** Copy of a stored file at the provider; `isKept` if an earlier batch uploaded it. */
type Copy = { kind: 'uploaded'; providerMediaId: string; isKept: boolean }
type Failure = Exclude<UploadResult, { kind: 'uploaded' }>

/** Provides the stored files of a batch to the provider, each once. No failure is thrown: the batch goes on without it. */
export class FileUploads {
  readonly #scope: Scope
  readonly #channel: LoadedChannel
  readonly #sendBefore: Date
  readonly #signal: AbortSignal
  readonly #slots = new FairSemaphore({ width: CONCURRENT_MAX })
  readonly #copies = new Map<string, Promise<Copy | Failure>>()

  /** After `signal` aborts, uploads in progress end, so that a process that stops does not wait for them. */
  constructor(
    scope: Scope,
    channel: LoadedChannel,
    { claimedUntil, signal }: Pick<Delivery, 'claimedUntil' | 'signal'>,
  ) {
    this.#scope = scope
    this.#channel = channel
    this.#sendBefore = claimedUntil
    const limit = AbortSignal.timeout(UPLOADS_MAX_MS)
    this.#signal = signal ? AbortSignal.any([signal, limit]) : limit
  }

  /** Sends a message after its file, if it has one. An upload that failed precedes the send, so it can be repeated. */
  async send(message: ClaimedMessage): Promise<SendResult> {
    const file = findFile(message.content)
    if (!file || !this.#channel.adapter.upload) return this.#sendInTime(message)
    const copy = await this.#provide(file.mediaId)
    if (copy.kind !== 'uploaded') return copy
    const result = await this.#sendInTime({ ...message, providerMediaId: copy.providerMediaId })
    return copy.isKept && isFileRefusal(result) ? this.#forget(file.mediaId, result) : result
  }

  /**
   * Sends nothing after the claim has expired, because this process was frozen or the commit of the claim took so long:
   * the message counts as failed by then, and later ones of the conversation may have been sent.
   */
  async #sendInTime(message: ClaimedMessage & { providerMediaId?: string }): Promise<SendResult> {
    return this.#scope.now() < this.#sendBefore ? this.#channel.adapter.send(message) : CLAIM_EXPIRED
  }

  #provide(mediaId: string): Promise<Copy | Failure> {
    const known = this.#copies.get(mediaId)
    if (known) return known
    const copy = this.#findOrUpload(mediaId).catch((error: unknown) => {
      this.#scope.log.warn({ event: 'file_upload_failed', err: error, mediaId }, 'could not upload a file')
      return NOT_UPLOADED
    })
    this.#copies.set(mediaId, copy)
    return copy
  }

  async #findOrUpload(mediaId: string): Promise<Copy | Failure> {
    const scope = this.#scope
    const [kept] = await scope.sql<{ providerMediaId: string }>('findProviderMedia')`
      select provider_media_id from provider_media
      where tenant_id = ${scope.tenantId} and media_id = ${mediaId} and channel_id = ${this.#channel.id}
        and expires_at > ${scope.now()}`
    if (kept) return { kind: 'uploaded', ...kept, isKept: true }
    return this.#slots.run(null, () => (this.#signal.aborted ? Promise.resolve(NOT_BEGUN) : this.#upload(mediaId)))
  }

  async #upload(mediaId: string): Promise<Copy | Failure> {
    const scope = this.#scope
    const file = await scope.find(MediaRow, mediaId)
    const { upload } = this.#channel.adapter
    if (!file || !upload) return FILE_DELETED
    try {
      const stream = await scope.files.open(toStoreKey(scope.tenantId, file.id))
      const { mimeType, bytes } = file
      const result = await upload({ stream, mimeType, bytes: Number(bytes) }, this.#signal)
      if (result.kind !== 'uploaded') return result
      await this.#keep(file.id, result.providerMediaId)
      // The claim may have expired meanwhile: the next attempt finds the copy.
      return this.#signal.aborted ? NOT_UPLOADED : { ...result, isKept: false }
    } catch (error) {
      if (error instanceof FileMissingError) return FILE_DELETED
      throw error
    }
  }

  async #keep(mediaId: string, providerMediaId: string): Promise<void> {
    const scope = this.#scope
    await scope.sql('keepProviderMedia')`
      insert into provider_media (tenant_id, media_id, channel_id, provider_media_id, expires_at)
      values (${scope.tenantId}, ${mediaId}, ${this.#channel.id}, ${providerMediaId},
        ${addMs(scope.now(), COPY_LIFETIME_MS)})
      on conflict (tenant_id, media_id, channel_id) do update
        set provider_media_id = excluded.provider_media_id, expires_at = excluded.expires_at`
  }

  /** Forgets a copy that the provider may have lost. The message, which it refused, is sent again with a new one. */
  async #forget(mediaId: string, refusal: SendResult & { kind: 'refused' }): Promise<SendResult> {
    const scope = this.#scope
    try {
      await scope.sql('forgetProviderMedia')`
        delete from provider_media
        where tenant_id = ${scope.tenantId} and media_id = ${mediaId} and channel_id = ${this.#channel.id}`
    } catch (error) {
      scope.log.warn({ event: 'file_upload_failed', err: error, mediaId }, 'could not forget the copy of a file')
      return refusal
    }
    return { ...refusal, kind: 'retry', scope: 'recipient', afterMs: SECOND }
  }
}

/** Codes of refusals that an unknown file may cause. */
const FILE_CODES = new Set(['media_unsupported', 'invalid_request'])

function isFileRefusal(result: SendResult): result is SendResult & { kind: 'refused' } {
  return result.kind === 'refused' && FILE_CODES.has(result.error.code)
}

function retryUpload(message: string): Extract<Failure, { kind: 'retry' }> {
  const error = { code: 'media_not_uploaded', message, providerCode: null, retryable: true, hint: null }
  return { kind: 'retry', scope: 'recipient', afterMs: 5 * SECOND, error }
}

const NOT_UPLOADED = retryUpload('The file could not be uploaded to the provider')
/** Waiting for the uploads of other messages is no failed attempt. */
const NOT_BEGUN: Failure = { ...retryUpload('The file could not be uploaded to the provider in time'), isExact: true }

/** Queues the message again, unless another process has declared its delivery unknown already. */
const CLAIM_EXPIRED: SendResult = {
  kind: 'retry',
  scope: 'recipient',
  afterMs: 0,
  isExact: true,
  error: {
    code: 'not_sent_in_time',
    message: 'The message was not sent in the time for which its process had claimed it',
    providerCode: null,
    retryable: true,
    hint: null,
  },
}

const FILE_DELETED: Failure = {
  kind: 'refused',
  error: {
    code: 'media_deleted',
    message: 'The file was deleted before the message could be sent',
    providerCode: null,
    retryable: false,
    hint: 'Upload the file again and send it in a new message',
  },
}
