const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/i
/** Visible characters of Latin-1, spaces and tabs: no line break can end the header, and a message with it. */
const VALUE = /^[\t\x20-\x7e\xa0-\xff]*$/
const VALUE_LENGTH_MAX = 8192

/** How the connection is made and what travels on it is not for a caller to say. */
const OURS = new Set([
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

/** Whether a header is for the call alone to set. */
export function isReservedHeader(name: string): boolean {
  return OURS.has(name.toLowerCase())
}

/** Why no header may have this name; undefined if one may. */
export function headerNameError(name: string): string | undefined {
  if (!NAME.test(name)) return 'is not the name of a header'
  return isReservedHeader(name) ? 'is a header that the call sets itself' : undefined
}

export function isHeaderValue(value: string): boolean {
  return VALUE.test(value) && value.length <= VALUE_LENGTH_MAX
}
