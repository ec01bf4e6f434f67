const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/i
/** Visible characters of Latin-1, spaces and tabs. Line breaks would allow header injection. */
const VALUE = /^[\t\x20-\x7e\xa0-\xff]*$/
const VALUE_LENGTH_MAX = 8192

/** Headers that control the connection and its encoding. */
const RESERVED = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'proxy-authorization',
  'proxy-connection',
])

/** Returns true for a header that only the call itself may set. */
export function isReservedHeader(name: string): boolean {
  return RESERVED.has(name.toLowerCase())
}

/** Returns the reason why no header may have this name; undefined if one may. */
export function headerNameError(name: string): string | undefined {
  if (!NAME.test(name)) return 'is not a valid header name'
  return isReservedHeader(name) ? 'is set by the call itself' : undefined
}

export function isHeaderValue(value: string): boolean {
  return VALUE.test(value) && value.length <= VALUE_LENGTH_MAX
}
