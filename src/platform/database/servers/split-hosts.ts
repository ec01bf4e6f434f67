const AUTHORITY = /^(\w+:\/\/(?:[^/?]*@)?)([^/?]*)/

/** Splits a URL with several hosts into one URL for each, in order. A URL with one host is returned as it is. */
export function splitHosts(url: string): string[] {
  const [authority = '', credentials = '', hosts = ''] = AUTHORITY.exec(url) ?? []
  if (!hosts.includes(',')) return [url]
  return hosts.split(',').map((host) => credentials + host + url.slice(authority.length))
}
