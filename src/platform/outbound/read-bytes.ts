import type { Dispatcher } from 'undici'

/** Reads a body and closes it. Returns undefined if it is longer than `bytesMax`, without reading the rest. */
export async function readBytes(body: Dispatcher.ResponseData['body'], bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      const part: Uint8Array = chunk
      size += part.length
      if (size > bytesMax) return undefined
      chunks.push(part)
    }
    return Buffer.concat(chunks)
  } finally {
    body.on('error', () => undefined).destroy()
  }
}
