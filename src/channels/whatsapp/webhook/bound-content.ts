import type { InboundMessage } from '../../channel.ts'

/** Four times what the provider accepts as text. */
const BODY_LENGTH_MAX = 16_384

/** Bytes of the content as JSON. Messages are read many at a time. */
const CONTENT_BYTES_MAX = 64 * 1024

type Parts = Pick<InboundMessage, 'body' | 'content'>

/** Cuts the text and leaves out values of the content that do not fit; `truncated` says so in the content. */
export function boundContent({ body, content }: Parts): Parts {
  const isLong = (body?.length ?? 0) > BODY_LENGTH_MAX
  const isLarge = content !== null && jsonBytes(content) > CONTENT_BYTES_MAX
  if (!isLong && !isLarge) return { body, content }
  return {
    body: body?.slice(0, BODY_LENGTH_MAX).toWellFormed() ?? null,
    content: { ...(isLarge ? keepFitting(content) : content), truncated: true },
  }
}

/** Copies an object without the values for which there is no room; smaller ones behind them are kept. */
function keepFitting(content: Record<string, unknown>): Record<string, unknown> {
  let room = CONTENT_BYTES_MAX
  const take = (bytes: number): boolean => {
    if (bytes > room) return false
    room -= bytes
    return true
  }
  const copyEntries = (value: object): [string, unknown][] =>
    Object.entries(value).flatMap(([key, child]): [string, unknown][] => {
      if (!take(jsonBytes(key) + SEPARATOR_BYTES)) return []
      const copied = copy(child)
      return copied === undefined ? [] : [[key, copied]]
    })
  const copy = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return take(jsonBytes(value) + SEPARATOR_BYTES) ? value : undefined
    if (!take(SEPARATOR_BYTES)) return undefined
    if (!Array.isArray(value)) return Object.fromEntries(copyEntries(value))
    return value.map(copy).filter((item) => item !== undefined)
  }
  return Object.fromEntries(copyEntries(content))
}

/** A comma or colon, or a pair of brackets. */
const SEPARATOR_BYTES = 2

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
