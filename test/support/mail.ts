import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export type ReceivedEmail = { to: string; subject: string; text: string }

/** Lists the emails that the application with this `DATA_DIR` has sent to an address, oldest first. */
export async function listEmailsTo(address: string, dataDir: string): Promise<ReceivedEmail[]> {
  const folder = join(dataDir, 'mail')
  const names = await readdir(folder).catch(() => [])
  const emails = await Promise.all(
    names.sort().map(async (name) => parseEmail(await readFile(join(folder, name), 'utf8'))),
  )
  return emails.filter(({ to }) => to.includes(`<${address}>`))
}

export function parseEmail(raw: string): ReceivedEmail {
  const end = raw.indexOf('\r\n\r\n')
  const headers = raw.slice(0, end)
  const body = raw.slice(end + 4)
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(headers)?.[1]?.trim() ?? ''
  const isQuoted = header('content-transfer-encoding') === 'quoted-printable'
  return { to: header('to'), subject: header('subject'), text: isQuoted ? unquote(body) : body }
}

function unquote(text: string): string {
  return text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
