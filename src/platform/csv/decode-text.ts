import { createReadStream } from 'node:fs'
import { Transform } from 'node:stream'

const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const
export type Encoding = (typeof ENCODINGS)[number]

/**
 * Detects the encoding of a text file by its byte order mark. A file without one is UTF-8, or Windows-1252 if its bytes are
 * no UTF-8. `hasMark` is true for UTF-8 with a mark.
 */
export async function detectEncoding(path: string): Promise<{ encoding: Encoding; hasMark: boolean }> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let isFirst = true
  let hasMark = false
  try {
    for await (const chunk of createReadStream(path)) {
      const bytes: Buffer = chunk
      if (isFirst && bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: 'utf-16le', hasMark: true }
      if (isFirst && bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: 'utf-16be', hasMark: true }
      if (isFirst) hasMark = bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))
      isFirst = false
      decoder.decode(bytes, { stream: true })
    }
    decoder.decode()
    return { encoding: 'utf-8', hasMark }
  } catch (error) {
    if (error instanceof TypeError) return { encoding: 'windows-1252', hasMark: false }
    throw error
  }
}

/** Characters of the bytes 80 to 9F. Some versions of Node.js decode them as ISO 8859-1. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'
const CONTROLS = /[\u0080-\u009f]/g // oxlint-disable-line no-control-regex -- they are replaced

/** Converts a text to UTF-8 without a byte order mark. Bytes that are no text become replacement characters. */
export function toUtf8(encoding: Encoding): Transform {
  const decoder = new TextDecoder(encoding)
  const decode = (bytes?: Buffer) => {
    const text = decoder.decode(bytes, { stream: bytes !== undefined })
    return encoding === 'windows-1252'
      ? text.replaceAll(CONTROLS, (char) => WINDOWS_1252[char.charCodeAt(0) - 0x80] ?? char)
      : text
  }
  return new Transform({
    transform: (chunk: Buffer, _, done) => done(null, Buffer.from(decode(chunk))),
    flush: (done) => done(null, Buffer.from(decode())),
  })
}
