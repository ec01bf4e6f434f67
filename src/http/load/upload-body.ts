import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { MINUTE, SECOND } from '../../platform/time.ts'
import { TransportError } from '../../trpc/errors.ts'
import { liftRequestTimeout } from './request-timeout.ts'

export type UploadLimits = {
  /** Time for the whole upload. */
  timeoutMs: number
  /** Bytes that must arrive in each period, so that a client that sends hardly anything does not keep its place. */
  bytesMin: number
  periodMs: number
}

const KB = 1024
export const UPLOAD_LIMITS: UploadLimits = { timeoutMs: 15 * MINUTE, bytesMin: 160 * KB, periodMs: 20 * SECOND }

/**
 * Reads a body that may take longer than other requests. The stream fails with 408 when the body is too slow; it never
 * destroys the request, so that the error can be answered.
 */
export function readUpload(req: IncomingMessage, { timeoutMs, bytesMin, periodMs }: UploadLimits): Readable {
  liftRequestTimeout(req)
  let arrived = 0
  const body = new Readable({
    read: () => void req.resume(),
    destroy(error, done) {
      clearTimeout(timeout)
      clearInterval(period)
      req.pause()
      done(error)
    },
  })
  const timeout = setTimeout(() => body.destroy(tooSlowError(timeoutMs, bytesMin / (periodMs / SECOND))), timeoutMs)
  const period = setInterval(() => {
    // A stream that is paused waits for the disk, not for the client.
    if (arrived < bytesMin && !req.isPaused()) body.destroy(tooSlowError(timeoutMs, bytesMin / (periodMs / SECOND)))
    arrived = 0
  }, periodMs)
  req.on('data', (chunk: Buffer) => {
    arrived += chunk.length
    if (!body.push(chunk)) req.pause()
  })
  req.once('end', () => body.push(null))
  req.once('error', (error) => body.destroy(error))
  req.once('close', () => {
    if (!req.complete) body.destroy(new Error('The client ended the upload'))
  })
  return body
}

function tooSlowError(timeoutMs: number, bytesPerSecond: number): TransportError {
  const rate = `${Math.ceil(bytesPerSecond / KB)} KB per second`
  const limit = `${Math.ceil(timeoutMs / MINUTE)} minutes`
  return new TransportError('TIMEOUT', {
    message: `The file arrives too slowly. An upload needs at least ${rate} and may take ${limit}. Try again on a faster connection`,
  })
}
